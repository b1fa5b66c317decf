package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"thole.example/journal"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// fullPair is a pair of which the first server has a job and a synchronous standby.
type fullPair struct {
	*pair
	task    *ps.Client
	conn    rpc.Conn
	copying *server.Copying
	over    chan error // gets what ended the copy
}

// fullSegment is the size of segments of the logs: the room for a segment is taken before anything is written to it.
const fullSegment = 4 * rowBytes

func fullPairOf(t *testing.T, run func(t *testing.T, p *fullPair)) {
	pairOf(t, 1<<40, func(t *testing.T, of *pair) {
		p := &fullPair{pair: of}
		for _, s := range p.servers {
			s.LogSegment, s.LogPatience = fullSegment, fullPatience
		}
		var err error
		p.task, err = ps.Dial(t.Context(), ps.Options{Network: p.net, Servers: []string{"a"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour,
			Find: func(context.Context, int) (string, uint64, error) {
				if p.roles[1].Check() == nil {
					return "b", 1, nil
				}
				return "a", 1, nil
			}})
		if err == nil {
			err = p.task.Create(t.Context(), "", matrix.Meta{Name: "m", Rows: 1, Cols: wideRow, DType: matrix.F64, Layout: matrix.RowDense})
		}
		if err == nil {
			err = push(t.Context(), p.task, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.copying = p.servers[1].NewCopying("b")
		p.conn, p.over = p.follow(p.copying, "a")
		p.becomesSynchronous(time.Minute)
		run(t, p)
		p.parts()
		if p.roles[1].Check() != nil {
			_ = p.copying.Drop()
		}
		_ = p.task.Close()
	})
}

// parts ends the copy.
func (p *fullPair) parts() {
	_ = p.conn.Close()
	if p.over != nil {
		<-p.over
		p.over = nil
	}
}

// fill fills the disk of one of the servers.
func (p *pair) fill(i int) { p.disks[i].SetRoom(p.disks[i].Used()) }

// pushesAll pushes until the disk of the first server has been full for long, and gives how often and the first error.
func (p *fullPair) pushesAll() (n int, err error) {
	for began := time.Now(); err == nil && time.Since(began) < 2*fullPatience; n++ {
		err = push(p.t.Context(), p.task, 1)
	}
	return n, err
}

// wants wants the task to read a number in each cell.
func (p *fullPair) wants(want int) {
	p.t.Helper()
	all, err := p.task.Pull(p.t.Context(), []matrix.Lookup{{Matrix: "m"}})
	if err != nil {
		p.t.Fatal(err)
	}
	for i, got := range all[0].Data.Values().([]float64) {
		if got != float64(want) {
			p.t.Fatalf("cell %d is %v after %d pushes", i, got, want)
		}
	}
}

// TestHandOver: a server whose log has had no room for its patience gives its role up for a standby that has everything, and says why. The
// task continues there, and each of its pushes counts once.
func TestHandOver(t *testing.T) {
	fullPairOf(t, func(t *testing.T, p *fullPair) {
		taken := make(chan error, 1)
		go func() {
			for p.roles[0].Check() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			p.parts()
			taken <- p.copying.Take(t.Context())
			p.roles[1].mu.Lock()
			p.roles[1].held = true
			p.roles[1].mu.Unlock()
		}()
		p.fill(0)
		began := time.Now()
		n, err := p.pushesAll()
		if err != nil {
			t.Fatalf("push %d after %v: %v", n, time.Since(began), err)
		}
		if err := <-taken; err != nil {
			t.Fatal(err)
		}
		p.wants(1 + n)
		if why := p.roles[0].gone; why == nil || !strings.Contains(why.Error(), "the disk is full") {
			t.Errorf("the role was given up for %v, want that the disk is full", why)
		}
		if log := p.servers[0].Status(t.Context())[0].Log; !strings.Contains(log.Error, "the disk is full") {
			t.Errorf("the log of the first server has the error %q, want that the disk is full", log.Error)
		}
	})
}

// TestHandOverNone: a server whose log has no room keeps its role, and the job fails, if the disk of its standby is full as well, also since a
// moment ago, or if the standby has ended.
func TestHandOverNone(t *testing.T) {
	for name, spoil := range map[string]func(p *fullPair){
		"both at once":       func(p *fullPair) { p.fill(1) },
		"the standby second": func(p *fullPair) { time.AfterFunc(fullPatience-2*time.Second, func() { p.fill(1) }) },
		"the standby ends":   func(p *fullPair) { time.AfterFunc(fullPatience/2, func() { _ = p.conn.Close() }) },
	} {
		t.Run(name, func(t *testing.T) {
			fullPairOf(t, func(t *testing.T, p *fullPair) {
				p.fill(0)
				spoil(p)
				_, err := p.pushesAll()
				if !ps.Recoverable(err) || errors.Is(err, rpc.ErrStandby) || !strings.Contains(err.Error(), "the disk is full") {
					t.Errorf("%v, want an error of a full disk from which a job recovers", err)
				}
				if why := p.roles[0].gone; why != nil {
					t.Errorf("the role was given up: %v", why)
				}
			})
		})
	}
}

// slowBases are logs whose bases take a while to read.
type slowBases struct{ server.Logs }

func (l slowBases) Folder(name string) journal.Files { return slowFolder{l.Logs.Folder(name)} }

type slowFolder struct{ journal.Files }

func (f slowFolder) Open(name string) (journal.File, error) {
	if strings.HasPrefix(name, "base.") {
		time.Sleep(time.Minute)
	}
	return f.Files.Open(name)
}

// TestCopyFull: a standby whose disk is full, and which is busy with the base of a log, says that the disk is full: nothing is wrong with
// what it was sent.
func TestCopyFull(t *testing.T) {
	pairOf(t, 3<<20, func(t *testing.T, p *pair) {
		c, err := p.task("a", "j")
		for range 20 {
			if err == nil {
				err = push(t.Context(), c, 1)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		s := p.servers[1]
		s.Logs, s.LogSegment, s.LogPatience = slowBases{s.Logs}, fullSegment, time.Second
		copying := s.NewCopying("b")
		conn, over := p.follow(copying, "a")
		for p.disks[1].Logged() == 0 {
			time.Sleep(time.Millisecond)
		}
		p.fill(1)
		for range 3 {
			if err := push(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		if err := <-over; errors.Is(err, rpc.ErrMalformed) || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("the copy ends with %v, want that the disk is full", err)
		}
		_ = conn.Close()
		if err := copying.Drop(); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}

// serves is a handler.
type serves func(x *rpc.Exchange)

func (f serves) Serve(x *rpc.Exchange) { f(x) }

// TestCopySaysFull: a standby with a full disk says so in each question while the disk of the other server is full, also after an answer that
// says nothing of that, and again once it has looked again.
func TestCopySaysFull(t *testing.T) {
	pairOf(t, 0, func(t *testing.T, p *pair) {
		p.servers[1].LogSegment = fullSegment
		answers := []rpc.Copied{{Run: "r", Full: true}, {Run: "r", Paused: true}, {Run: "r", Full: true}, {Run: "r", Full: true}, {Run: "r"}}
		var said []bool
		l, err := p.net.Listen(t.Context(), "other", serves(func(x *rpc.Exchange) {
			var q rpc.Copy
			if err := json.Unmarshal(x.Arg, &q); err != nil {
				t.Error(err)
			}
			said = append(said, q.Full)
			if len(said) > len(answers) {
				return
			}
			if len(said) == 4 { // the standby looks again
				p.disks[1].SetRoom(1 << 30)
				time.Sleep(time.Second)
			}
			text, err := json.Marshal(answers[len(said)-1])
			if err != nil {
				t.Error(err)
			}
			x.Answer(&rpc.Response{Results: []rpc.Result{{Data: text}}})
		}))
		if err != nil {
			t.Fatal(err)
		}
		p.disks[1].SetRoom(1)
		copying := p.servers[1].NewCopying("b")
		conn, over := p.follow(copying, "other")
		time.Sleep(10 * time.Second)
		_ = conn.Close()
		<-over
		if want := []bool{false, true, true, true, false, false}; !slices.Equal(said, want) {
			t.Errorf("the standby says that its disk is full: %v, want %v", said, want)
		}
		if err := copying.Drop(); err != nil {
			t.Error(err)
		}
		_ = l.Close()
	})
}
