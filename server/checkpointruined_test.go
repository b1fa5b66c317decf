package server_test

import (
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
