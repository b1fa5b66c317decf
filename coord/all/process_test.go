//go:build unix

package all_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"thole.example/coord"
	"thole.example/coord/all"
	"thole.example/coord/node"
)

const claimantVariable = "THOLE_TEST_CLAIMANT"

// TestMain is also what a claimant's process runs: it claims a role again and again, and prints its epoch and the time of each moment at
// which it is valid.
func TestMain(m *testing.M) {
	if at := os.Getenv(claimantVariable); at != "" {
		if err := claimant(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func claimant(at string) error {
	s, err := all.Open(at)
	if err != nil {
		return err
	}
	for {
		h, err := coord.Claim(context.Background(), s, "c", coord.Server(0), fmt.Sprint("pid:", os.Getpid()), coord.Options{Lease: 300 * time.Millisecond})
		if err != nil {
			return err
		}
		for h.Err() == nil {
			if now := time.Now(); h.Valid(now) {
				fmt.Println(now.UnixNano(), h.Epoch())
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// moment is when an epoch was valid.
type moment struct {
	at    int64
	epoch uint64
}

// TestProcesses: of three processes that are frozen, thawed and killed at random no two hold a role at one moment, by the clock of the machine
// that all have: epochs are valid one after the other.
func TestProcesses(t *testing.T) {
	n, err := node.Start(node.Config{Dir: filepath.Join(t.TempDir(), "etcd"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	for name, at := range map[string]string{"dir": "dir:" + url.PathEscape(filepath.Join(t.TempDir(), "store")), "etcd": "etcd://" + n.Addr()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moments := fight(t, at)
			slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
			last := uint64(0)
			for _, m := range moments {
				if m.epoch < last {
					t.Fatalf("epoch %d is valid at %d, after %d was", m.epoch, m.at, last)
				}
				last = m.epoch
			}
			t.Logf("%d epochs, %d moments", last, len(moments))
			if last < 3 {
				t.Errorf("the last epoch is %d: nothing happens", last)
			}
		})
	}
}

// fight lets processes claim a role while bad things happen to them, and gives the moments when one was valid.
func fight(t *testing.T, at string) (moments []moment) {
	var mu sync.Mutex
	var readers sync.WaitGroup
	start := func() *os.Process {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), claimantVariable+"="+at)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var m moment
				if _, err := fmt.Fscan(strings.NewReader(lines.Text()), &m.at, &m.epoch); err == nil {
					mu.Lock()
					moments = append(moments, m)
					mu.Unlock()
				}
			}
			_, _ = io.Copy(io.Discard, out)
			_ = c.Wait() // it was killed
		})
		return c.Process
	}
	r := rand.New(rand.NewPCG(1, 1))
	processes := []*os.Process{start(), start(), start()}
	for range 25 {
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		i := r.IntN(len(processes))
		switch p := processes[i]; r.IntN(4) {
		case 0:
			_ = p.Kill()
			processes[i] = start()
		case 1:
			_ = p.Signal(syscall.SIGCONT)
		default:
			_ = p.Signal(syscall.SIGSTOP)
			time.AfterFunc(time.Duration(r.IntN(1000))*time.Millisecond, func() { _ = p.Signal(syscall.SIGCONT) })
		}
	}
	time.Sleep(time.Second)
	for _, p := range processes {
		_ = p.Kill()
	}
	readers.Wait()
	return moments
}
