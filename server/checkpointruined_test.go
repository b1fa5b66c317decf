package server_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/ssp"
	"thole.example/state"
)

// TestCheckpointOverRuined: a checkpoint of a training takes the place of one whose head is missing or damaged, which nobody can read any
// more; else each attempt would fail there again. What may be something else is left.
func TestCheckpointOverRuined(t *testing.T) {
	const moment = `{"run":"r","attempt":1}`
	for _, c := range []struct {
		name, path, moment string
		change             func(head []byte) []byte // nil: of no head
		files              bool                     // the servers' files are there
		replaced           bool
	}{
		{"no head", "run/000000000420", moment, nil, true, true},
		{"no head of a best epoch", "run/best.000003", moment, nil, true, true},
		{"half a head", "run/000000000420", moment, func(head []byte) []byte { return head[:len(head)/2] }, true, true},
		{"an empty head", "run/000000000420", moment, func([]byte) []byte { return nil }, true, true},
		{"a bit of the head", "run/000000000420", moment, func(head []byte) []byte { head[40] ^= 1; return head }, true, true},
		{"a head without files", "run/000000000420", moment, func(head []byte) []byte { return head[:20] }, false, true},
		{"of a later version", "run/000000000420", moment, func(head []byte) []byte { head[7]++; return head }, true, false},
		{"somebody's folder", "run/000000000420", moment, nil, false, false},
		{"somebody's name", "run/mine", moment, nil, true, false},
		{"of no training", "run/000000000420", "", nil, true, false},
		{"of another run, and whole", "run/000000000420", `{"run":"q"}`, func(head []byte) []byte { return head }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bucket := blob.NewDir(t.TempDir())
			write := func(moment string) (err error) {
				newFleet(t, "mem", 2, bucket, small()).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
					o := ps.CheckpointOptions{Path: c.path, Moment: []byte(moment)}
					k, begun := p.BeginCheckpoint(ctx, o)
					if err = begun; err == nil {
						err = k.Wait(ctx)
					}
					return nil
				})
				return err
			}
			if err := write(moment); err != nil {
				t.Fatal(err)
			}
			ruin(t, bucket, c.path, c.change, c.files)
			err := write(c.moment)
			if !c.replaced {
				if err == nil || !strings.Contains(err.Error(), "is there now") {
					t.Errorf("%v, want what is there to stay", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := state.Open(t.Context(), bucket, c.path); err != nil {
				t.Error(err)
			}
		})
	}
}

// ruin changes the head of a checkpoint, or removes it, and removes the servers' files or leaves them.
func ruin(t *testing.T, bucket blob.Bucket, at string, change func(head []byte) []byte, files bool) {
	t.Helper()
	head := at + "/" + state.HeadName
	text, err := blob.ReadAll(t.Context(), bucket, head, 1<<20)
	if err == nil && change != nil {
		err = blob.WriteAll(t.Context(), bucket, head, change(text))
	} else if err == nil {
		err = blob.WriteAll(t.Context(), bucket, at+"/notes", text)
		if err == nil {
			err = bucket.Remove(t.Context(), head)
		}
	}
	for _, name := range []string{"/server.0", "/server.1"} {
		if err == nil && !files {
			err = bucket.Remove(t.Context(), at+name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRestoreFindsAllDamage: a training that continues finds damage also in what it does not use: the state of the job, at the end of each
// server's file, and the settings beside the matrices.
func TestRestoreFindsAllDamage(t *testing.T) {
	b := &blob.Mem{}
	newFleet(t, "mem", 2, b, small()).run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		k, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: "c", Files: map[string][]byte{"job.yaml": []byte("algo: lr"),
			"graph.json": []byte(`{"layers": []}`)}})
		if err != nil {
			return err
		}
		return k.Wait(ctx)
	})
	restore := func() error { // by servers and a client of its own: a failed change stays one
		f := newFleet(t, "mem", 2, b, small())
		p, err := ps.Dial(t.Context(), ps.Options{Network: f.net, Servers: f.servers, Job: "j", Tasks: 1, Bound: ssp.BSP})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, m := range small() {
			if err := p.Create(t.Context(), "", m); err != nil {
				t.Fatal(err)
			}
		}
		_, err = p.Restore(t.Context(), "c")
		return err
	}
	for _, object := range []string{"c/server.0", "c/server.1", "c/job.yaml", "c/graph.json"} {
		sound, err := blob.ReadAll(t.Context(), b, object, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		tail := min(len(sound), max(len(sound)/10, 400))
		for at := len(sound) - 1; at >= len(sound)-tail; at -= max(1, tail/8) {
			bad := bytes.Clone(sound)
			bad[at] ^= 1 << (at % 8)
			if err := blob.WriteAll(t.Context(), b, object, bad); err != nil {
				t.Fatal(err)
			}
			if err := restore(); err == nil || !strings.Contains(err.Error(), object) {
				t.Errorf("bit %d of byte %d of %d of %s: %v", at%8, at, len(sound), object, err)
			}
		}
		if err := blob.WriteAll(t.Context(), b, object, sound); err != nil {
			t.Fatal(err)
		}
	}
	if err := restore(); err != nil {
		t.Errorf("without damage: %v", err)
	}
}
