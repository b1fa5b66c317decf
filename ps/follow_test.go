package ps_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
)

// TestFollowOtherServers: a reader that names the servers of a job in another order, or only some of them, is told which they are, when it
// follows the job and when it reads after the job has begun again on servers in another order.
func TestFollowOtherServers(t *testing.T) {
	ctx, net := t.Context(), &mem.Network{}
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"a", "b"} {
		l, err := net.Listen(ctx, addr, &server.Server{Funcs: funcs, Bucket: &blob.Mem{}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	begin := func(servers ...string) *ps.Client {
		c, err := ps.Dial(ctx, ps.Options{Network: net, Servers: servers, Job: "j", Tasks: 1})
		if err == nil {
			err = c.Create(ctx, "", matrix.Meta{Name: "m", Rows: 1, Cols: 8, DType: matrix.F64})
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	follow := func(servers ...string) (*ps.Client, error) {
		return ps.Follow(ctx, ps.Options{Network: net, Servers: servers, Job: "j"})
	}
	wants := func(err error, text string) {
		t.Helper()
		if !errors.Is(err, ps.ErrServers) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want an ErrServers with %q", err, text)
		}
	}
	c := begin("a", "b")
	for list, text := range map[string]string{
		"b a": `server b is server 1 of 2 of job "j", and was named as server 0 of 2 (from 0 on)`,
		"a":   `server a is server 0 of 2 of job "j", and was named as server 0 of 1 (from 0 on)`,
		"b":   `server b is server 1 of 2 of job "j", and was named as server 0 of 1 (from 0 on)`,
	} {
		_, err := follow(strings.Fields(list)...)
		wants(err, text)
	}
	r, err := follow("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cut := func() error {
		_, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "m"}})
		return err
	}
	if err := errors.Join(cut(), c.Leave(context.WithoutCancel(ctx))); err != nil {
		t.Fatal(err)
	}
	defer begin("b", "a").Close()
	wants(cut(), `server a is server 1 of 2`)
}
