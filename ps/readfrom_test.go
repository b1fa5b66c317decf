package ps_test

import (
	"context"
	"testing"
	"testing/synctest"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
)

// TestReadFromServer: a reader that prefers standbys of which none answers reads from the server, once all have been asked.
func TestReadFromServer(t *testing.T) {
	for _, from := range []ps.ReadFrom{ps.ReadNearest, ps.ReadReplica} {
		t.Run(from.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
				if err != nil {
					t.Fatal(err)
				}
				net := &mem.Network{}
				l, err := net.Listen(t.Context(), "s", &server.Server{Funcs: funcs, Bucket: &blob.Mem{}})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				o := ps.Options{Network: net, Servers: []string{"s"}, Job: "j"}
				task := o
				task.Tasks = 1
				c, err := ps.Dial(t.Context(), task)
				if err == nil {
					err = c.Create(t.Context(), "", matrix.Meta{Name: "m", Rows: 1, Cols: 2, DType: matrix.F64})
				}
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				o.ReadFrom = from
				asked := 0
				o.Replicas = func(context.Context, int) ([]string, error) {
					asked++
					return []string{"gone", "away"}, nil
				}
				r, err := ps.Follow(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				m, err := r.Matrix("m")
				if err == nil {
					_, err = m.GetRow(t.Context(), 0)
				}
				if err != nil {
					t.Fatal(err)
				}
				if all := r.Sources(); len(all) != 1 || all[0].Addr != "s" || all[0].Lag != nil || asked == 0 {
					t.Errorf("it reads from %+v after %d questions for standbys, want the server", all, asked)
				}
			})
		})
	}
}
