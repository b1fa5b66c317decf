package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// rehearsals has one task of a job of its own on the cluster, with a dense and a sparse matrix.
func (c *cluster) rehearsals(job string, task func(ctx context.Context, p *ps.Client) error) {
	c.t.Helper()
	p, err := ps.Dial(c.t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: job, Tasks: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	defer p.Close()
	err = p.Create(c.t.Context(), "", meta("w", 1, 80, matrix.RowDense), meta("k", 1, 1000, matrix.RowSparse))
	if err == nil {
		err = task(c.t.Context(), p)
	}
	if err == nil {
		err = p.Leave(c.t.Context())
	}
	if err != nil {
		c.t.Errorf("job %s: %v", job, err)
	}
}

// names are what lies in the bucket.
func names(t *testing.T, b blob.Bucket) (out []string) {
	t.Helper()
	infos, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		out = append(out, i.Name)
	}
	return out
}

// TestRehearsal: a rehearsal says what a save would fail of or lose, keeps the path for its job, and leaves nothing.
func TestRehearsal(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 3)
	angel := ps.SaveOptions{Codec: "angel", Path: "m"}
	c.rehearsals("one", func(ctx context.Context, p *ps.Client) error {
		if lost, err := p.Rehearse(ctx, angel); err != nil || len(lost) > 0 {
			return fmt.Errorf("a rehearsal loses %q: %w", lost, err)
		}
		if all := names(t, c.bucket); len(all) > 0 {
			t.Errorf("a rehearsal left %v", all)
		}
		if _, err := p.Rehearse(ctx, ps.SaveOptions{Codec: "npz", Path: "m.npz"}); err == nil || !strings.Contains(err.Error(), format.ErrLossy.Error()) {
			t.Errorf("npz of a sparse matrix: %v, want %v", err, format.ErrLossy)
		}
		npz := ps.SaveOptions{Codec: "npz", Path: "m.npz", Lossy: true}
		if lost, err := p.Rehearse(ctx, npz); err != nil || len(lost) == 0 {
			t.Errorf("npz of a sparse matrix loses %q, %v", lost, err)
		}
		c.rehearsals("two", func(ctx context.Context, p *ps.Client) error {
			_, err := p.Rehearse(ctx, angel)
			fails(t, "another job, meanwhile", err, rpc.ErrExists, `job "one" will save there`)
			return nil
		})
		for range 2 { // its own save may be replaced
			if err := p.Save(ctx, angel); err != nil {
				return err
			}
		}
		return nil
	})
	c.rehearsals("three", func(ctx context.Context, p *ps.Client) error {
		_, err := p.Rehearse(ctx, angel)
		fails(t, "over what is there", err, rpc.ErrExists, "--force")
		replace := angel
		replace.Replace = true
		if _, err := p.Rehearse(ctx, replace); err != nil {
			return err
		}
		return p.Save(ctx, replace)
	})
}

// TestRehearsalOverChange: what somebody else saved at the path after the rehearsal is not replaced.
func TestRehearsalOverChange(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	o := ps.SaveOptions{Codec: "angel", Path: "m"}
	c.rehearsals("one", func(ctx context.Context, p *ps.Client) error {
		if _, err := p.Rehearse(ctx, o); err != nil {
			return err
		}
		if err := blob.WriteAll(ctx, c.bucket, "m", []byte("precious")); err != nil {
			return err
		}
		if err := p.Save(ctx, o); err == nil {
			t.Error("it was replaced")
		}
		if text, err := blob.ReadAll(ctx, c.bucket, "m", 100); err != nil || string(text) != "precious" {
			t.Errorf("at the path is %q, %v", text, err)
		}
		return nil
	})
	if all := names(t, c.bucket); len(all) != 1 {
		t.Errorf("left are %v", all)
	}
}

// TestRehearsalOfTwoStores: servers that keep models in different places cannot save one together.
func TestRehearsalOfTwoStores(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	other := &blob.Mem{}
	s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: other}
	l, err := c.net.Listen(t.Context(), "", s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c.addrs = append(c.addrs, l.Addr())
	c.rehearsals("one", func(ctx context.Context, p *ps.Client) error {
		_, err := p.Rehearse(ctx, ps.SaveOptions{Codec: "angel", Path: "m"})
		fails(t, "a rehearsal", err, rpc.ErrRefused, "2 of 3 servers keep models here", "--store")
		return nil
	})
	if all := append(names(t, c.bucket), names(t, other)...); len(all) > 0 {
		t.Errorf("left are %v", all)
	}
}

// TestRehearsalBesideTheEnd: when a job ends in the middle of a rehearsal nothing is left, and others may save at the path.
func TestRehearsalBesideTheEnd(t *testing.T) {
	for _, slow := range []bool{false, true} {
		bubble(t, fmt.Sprintf("slow %v", slow), func(t *testing.T) {
			files := &blob.Mem{}
			store := &gate{Bucket: files}
			s := serve(t, func(s *server.Server) { s.Bucket = store })
			rehearsal := rpc.Request{Op: rpc.OpSave, Arg: arg(rpc.Save{
				Codec: "angel", Path: "m", Stage: "s", Matrices: []string{"m"}, Rehearsal: true, Servers: 2,
			})}
			c := s.join(0, 1, ssp.BSP)
			c.create(one("m", 1, 4))
			if slow {
				store.close()
			}
			call := c.start(rehearsal)
			synctest.Wait()
			if slow == call.Ready() {
				t.Errorf("answered is %v", call.Ready())
			}
			c.must(rpc.Request{Op: rpc.OpQuit})
			synctest.Wait()
			if slow {
				store.open()
			}
			synctest.Wait()
			if left := names(t, files); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
			if infos, err := files.List(t.Context(), format.NewStage(files, "m", "s").Tree); err != nil || len(infos) > 0 {
				t.Errorf("left in the stage are %v, %v", infos, err)
			}
			next := s.joinAs(rpc.Join{Job: "next", Tasks: 1})
			next.create(one("m", 1, 4))
			next.must(rehearsal)
			next.must(rpc.Request{Op: rpc.OpAbort, Arg: rehearsal.Arg})
		})
	}
}

// TestMembersOfTheJob: whoever waits for the others is told of each, and of workers that were refused.
func TestMembersOfTheJob(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	var told []rpc.Membership
	done := make(chan error, 1)
	first, err := ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: 1, Tasks: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	heard := make(chan rpc.Membership, 8)
	go func() { done <- first.Members(t.Context(), func(m rpc.Membership) { heard <- m }) }()
	told = append(told, <-heard)
	_, err = ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Tasks: 2, Bound: ssp.ASP})
	fails(t, "another idea of the job", err, rpc.ErrRefused)
	told = append(told, <-heard)
	second, err := ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Tasks: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if told[0].Joined != 1 || len(told[0].Missing) != 1 || told[0].Refused != 0 || told[1].Refused != 1 || told[1].Why == "" {
		t.Errorf("told are %+v", told)
	}
}
