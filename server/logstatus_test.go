package server_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// The status of a job tells how long its log is since its base, how old that is, and what was replayed when the server was started.
func TestLogStatus(t *testing.T) {
	for _, unsynced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const wide = 40
			disk, net, bucket := journaltest.NewDisk(1), &mem.Network{}, &blob.Mem{}
			start := func() (*server.Server, rpc.Listener) {
				s := &server.Server{Funcs: table(t, more), Codecs: codecs, Bucket: bucket, Logs: disk.Start(), LogUnsynced: unsynced,
					LogBase: basedAt}
				if err := s.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				l, err := net.Listen(t.Context(), "s", s)
				if err != nil {
					t.Fatal(err)
				}
				return s, l
			}
			status := func(s *server.Server) *server.LogStatus {
				all := s.Status(t.Context())
				if len(all) != 1 || all[0].Log == nil {
					t.Fatalf("%+v: want a job with a log", all)
				}
				return all[0].Log
			}
			s, l := start()
			p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour})
			if err == nil {
				err = p.Create(t.Context(), "", meta("m", 1, wide, matrix.RowDense))
			}
			if err != nil {
				t.Fatal(err)
			}
			first := status(s)
			if first.End == 0 || first.Since != first.End || first.Waiting != 0 || first.Synced == unsynced || first.Most != basedAt ||
				first.Base != nil || first.Replay != nil || first.Error != "" {
				t.Errorf("at the begin: %+v", first)
			}
			one := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, wide))
			push := func() {
				if err := errors.Join(p.Push("m", one), p.Flush(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				push()
			}
			time.Sleep(time.Minute) // the base is written
			push()
			based := status(s)
			if b := based.Base; b == nil || b.Position == 0 || b.Bytes < 8*wide || based.Since != based.End-b.Position || based.Since > 3*basedAt ||
				b.Age < 50 || b.Age > 70 {
				t.Errorf("with a base: %+v, base %+v", based, b)
			}
			_ = l.Close()
			disk.Start() // what the one that was killed writes is nowhere
			time.Sleep(time.Minute)
			s, l = start()
			again := status(s)
			if r := again.Replay; r == nil || r.Records < 1 || r.Bytes < 8*wide || r.Bytes > int64(again.Since) || r.Seconds < 0 {
				t.Errorf("what was replayed: %+v", r)
			}
			if b := again.Base; b == nil || b.Position != based.Base.Position || b.Bytes != based.Base.Bytes || b.Age < 110 || b.Age > 140 ||
				again.End < based.End {
				t.Errorf("started again: %+v, base %+v, want %+v", again, b, based.Base)
			}
			push()
			if more := status(s); more.End <= again.End {
				t.Errorf("after one more push it ends at %d, want more than %d", more.End, again.End)
			}
			if err := p.Leave(t.Context()); err != nil {
				t.Error(err)
			}
			_ = p.Close()
			_ = l.Close()
			time.Sleep(3 * time.Hour) // servers that were killed wait for nobody any more
			synctest.Wait()
		})
	}
}
