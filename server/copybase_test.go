package server_test

import (
	"testing"
	"time"

	"thole.example/server"
)

// TestCopyReadsBase: while a standby reads the base of a log it receives what comes to the log, as long as that is not more than it may be
// ahead: what the base has in place of records is not replayed any more.
func TestCopyReadsBase(t *testing.T) {
	pairOf(t, 3<<20, func(t *testing.T, p *pair) {
		p.limits(server.CopyLimits{Ahead: 2 << 20})
		c, err := p.task("a", "j")
		for range 20 { // 10 MiB
			if err == nil {
				err = push(t.Context(), c, 1)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		s := p.servers[1]
		s.Logs = slowBases{s.Logs}
		copying := s.NewCopying("b")
		conn, over := p.follow(copying, "a")
		for p.disks[1].Logged() == 0 {
			time.Sleep(time.Millisecond)
		}
		before := p.disks[1].Longest("000001", ".log")
		for range 2 {
			if err := push(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		if came := p.disks[1].Longest("000001", ".log") - before; came < rowBytes {
			t.Errorf("%d bytes of the log have come while the base is read, want at least a row of %d", came, rowBytes)
		}
		_ = conn.Close()
		<-over
		if err := copying.Drop(); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}
