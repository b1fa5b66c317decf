package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
)

// moving is a cast whose job moves: workers are told the first servers, others run beside them.
type moving struct {
	*cast
	others []*process
}

// newMoving starts two servers that the workers are told, two others, and three workers.
func newMoving(t *testing.T, dir string, settings ...string) *moving {
	t.Helper()
	for _, left := range []string{"ck", "kept"} {
		if err := os.RemoveAll(filepath.Join(dir, left)); err != nil {
			t.Fatal(err)
		}
	}
	m := &moving{others: make([]*process, 2)}
	m.cast = &cast{t: t, dir: dir, settings: settings}
	for i := range m.others {
		m.other(i)
	}
	m.cast = newCast(t, dir, 2, 3, settings...)
	return m
}

// other starts one of the others, which are numbers 2 and 3.
func (m *moving) other(i int) {
	m.others[i], _ = startServer(m.t, m.dir, "--listen", m.socket(2+i), "--quiet")
}

func (m *moving) sockets(numbers ...int) (all []string) {
	for _, i := range numbers {
		all = append(all, m.socket(i))
	}
	return all
}

// order moves the job from a server to some.
func (m *moving) order(from int, to ...int) *process {
	return newProcess(m.t, m.dir, "reshard", m.socket(from), "--servers", strings.Join(m.sockets(to...), ","), "--json")
}

// moves is an order that goes well.
func (m *moving) moves(from int, to ...int) (out resharded) {
	m.t.Helper()
	p := m.order(from, to...)
	if err := p.Run(); err != nil {
		m.t.Fatalf("%v: %s; worker 0: %s", err, &p.err, &m.workers[0].err)
	}
	if err := json.Unmarshal(p.out.Bytes(), &out); err != nil {
		m.t.Fatal(err)
	}
	var servers []string
	for _, s := range out.Servers {
		if servers = append(servers, s.Server); s.Partitions == 0 {
			m.t.Errorf("server %s has no partition", s.Server)
		}
	}
	if !slices.Equal(servers, m.sockets(to...)) {
		m.t.Errorf("it is on %q, want %q", servers, m.sockets(to...))
	}
	return out
}

// alike wants the model of the job to be that of a folder.
func (m *moving) alike(model string) {
	m.t.Helper()
	diff := newProcess(m.t, m.dir, "diff", model, "kept")
	if err := diff.Run(); err != nil {
		m.t.Errorf("the model differs: %v: %s%s", err, &diff.out, &diff.err)
	}
	for i, w := range m.workers {
		m.t.Logf("worker %d:\n%s", i, &w.err)
	}
}

// movingData is a folder with examples and the model of a training of so many epochs that is not moved.
func movingData(t *testing.T, epochs string) (dir string, settings []string) {
	dir = t.TempDir()
	mustRun(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "4000", "--out", "clicks.ffm")
	settings = []string{"--algo", "fm", "--sparse", "--data", "clicks.ffm", "--epochs", epochs, "--batch", "32", "--holdout", "0.1",
		"--early-stop", epochs}
	mustRun(t, dir, append([]string{"train", "--tasks", "3", "--model", "alone"}, settings...)...)
	return dir, append(settings, "--model", "kept", "--checkpoint", "ck", "--checkpoint-every", "200")
}

// A job moves to more servers and to fewer, which may be all others, while it runs; those that it has left may end. Under BSP it ends with
// the bits of one that was not moved.
func TestResharded(t *testing.T) {
	t.Parallel()
	dir, settings := movingData(t, "40")
	for _, staleness := range []string{"0", "2", "-1"} {
		t.Run("staleness "+staleness, func(t *testing.T) {
			m := newMoving(t, dir, append(slices.Clone(settings), "--staleness", staleness)...)
			m.later("")
			first := m.moves(1, 1, 2, 3)
			m.kill(m.servers[0])
			second := m.moves(3, 3)
			m.kill(m.servers[1])
			m.kill(m.others[0])
			show := newProcess(t, dir, "checkpoint", "show", filepath.Join(dir, second.Checkpoint))
			if err := show.Run(); err != nil || !strings.Contains(show.out.String(), "on "+m.socket(3)+"\n") {
				t.Errorf("%v: %s%s, want the server where it goes on", err, &show.out, &show.err)
			}
			if first.Attempt != 2 || second.Attempt != 3 || second.Checkpoint <= first.Checkpoint || first.Partitions < 3 {
				t.Errorf("%+v and then %+v, want attempts 2 and 3", first, second)
			}
			m.end()
			if staleness == "0" {
				m.alike("alone")
			}
		})
	}
}

// Whoever dies while a job moves, it ends by itself, where it was or where it goes, with the bits of one that was not moved.
func TestReshardKilled(t *testing.T) {
	t.Parallel()
	dir, settings := movingData(t, "20")
	for _, moment := range []string{"at once", "heard", "moved"} {
		for name, kill := range map[string]func(m *moving, p *process){
			"an old server":   func(m *moving, _ *process) { m.kill(m.servers[0]); m.server(0) },
			"a new server":    func(m *moving, _ *process) { m.kill(m.others[1]); m.other(1) },
			"on both sides":   func(m *moving, _ *process) { m.kill(m.servers[1]); m.server(1) },
			"first worker":    func(m *moving, _ *process) { m.kill(m.workers[0]); m.worker(0) },
			"another worker":  func(m *moving, _ *process) { m.kill(m.workers[2]); m.worker(2) },
			"who has ordered": func(m *moving, p *process) { m.kill(p) },
		} {
			if moment != "moved" && name != "an old server" && (moment == "at once" || name != "first worker") { // much the same
				continue
			}
			if !everyCase() && moment+", "+name != "heard, an old server" && (moment != "moved" || name != "on both sides" && name != "first worker") {
				continue
			}
			t.Run(moment+", "+name, func(t *testing.T) {
				m := newMoving(t, dir, settings...)
				m.later("")
				p := m.order(1, 1, 2, 3)
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
				switch moment {
				case "heard":
					m.copying()
				case "moved":
					m.gone()
				}
				kill(m, p)
				if name != "who has ordered" {
					_ = p.Wait() // it may have moved or not
				}
				t.Logf("order: %s%s", &p.out, &p.err)
				m.end()
				m.alike("alone")
			})
		}
	}
}

// copying waits for a checkpoint that is none of those that are written anyway: the job is about to move.
func (m *moving) copying() {
	m.until(func(head string) bool {
		steps := 0
		_, err := fmt.Sscan(filepath.Base(filepath.Dir(head)), &steps)
		return err == nil && steps%200 != 0
	})
}

// ordered waits until a server has an order for the job.
func (m *moving) ordered(at int) {
	m.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if look, err := ps.Move(m.t.Context(), &tcp.Network{}, m.socket(at), rpc.Move{Job: "job"}); err == nil && look.Moving != nil {
			return
		}
	}
	m.t.Fatal("nobody has ordered the job to move")
}

// gone waits for the checkpoint with which the job moves.
func (m *moving) gone() {
	m.until(func(head string) bool {
		text, _ := os.ReadFile(head)
		return strings.Contains(string(text), `"servers":["unix:`)
	})
}

// until waits until the heads of checkpoints say so, or the job is over: on a busy machine it may be before anybody has asked it to move.
func (m *moving) until(there func(head string) bool) {
	m.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		heads, _ := filepath.Glob(filepath.Join(m.dir, "ck", "0*", "checkpoint"))
		if _, err := os.Stat(filepath.Join(m.dir, "kept")); err == nil || slices.ContainsFunc(heads, there) {
			return
		}
	}
	m.t.Fatalf("the job does not move: %s", &m.workers[0].err)
}

// An order that cannot be carried out leaves the job where it is, and says why. So does one that is withdrawn.
func TestReshardStays(t *testing.T) {
	t.Parallel()
	dir, settings := movingData(t, "40")
	m := newMoving(t, dir, settings...)
	elsewhere, _ := startServer(t, t.TempDir(), "--listen", "unix:"+filepath.Join(dir, "other"), "--quiet")
	defer m.kill(elsewhere)
	m.later("")
	for to, want := range map[string]string{
		m.socket(9):                           "nobody answers",
		"unix:" + filepath.Join(dir, "other"): "does not see the checkpoints",
	} {
		p := newProcess(t, dir, "reshard", m.socket(0), "--servers", m.socket(0)+","+to)
		if err := p.Run(); err == nil || !strings.Contains(p.err.String(), want) {
			t.Errorf("%s: %v: %s, want %q", to, err, &p.err, want)
		}
	}
	p := m.order(1, 2, 3)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	m.ordered(1)
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := p.Wait()
	if said := p.err.String(); err == nil && p.out.Len() == 0 || // it has moved
		err != nil && !strings.Contains(said, "withdrawn: job") && !strings.Contains(said, "too late to withdraw: job") {
		t.Errorf("it was interrupted, and ends with %v: %s%s", err, &p.out, said)
	}
	t.Logf("interrupted: %s%s", &p.out, &p.err)
	m.end()
	m.alike("alone")
}
