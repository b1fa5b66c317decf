package engines

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// run is what the tests of one process share.
type run struct {
	dir     string // of all they make; its path is short, as sockets want it
	scripts string // that start engines
	bin     string // what these run
	thole   string
	missing string // why nothing can be tested; "": nothing is missing
}

// inside is the variable that says that this process is one within the spaces of a cluster, and of which run.
const inside = "ENGINES_INSIDE"

// prepare builds thole, once in a process.
var prepare = sync.OnceValues(func() (*run, error) {
	r := &run{scripts: os.Getenv("ENGINES"), bin: os.Getenv("ENGINES_BIN"), dir: os.Getenv(inside)}
	if r.scripts == "" {
		r.scripts = "../../../shared/engines"
	}
	r.scripts, _ = filepath.Abs(r.scripts)
	if r.bin == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		r.bin = filepath.Join(cache, "thole-engines")
	}
	r.bin, _ = filepath.Abs(r.bin)
	switch _, err := os.Stat(filepath.Join(r.scripts, "common.sh")); {
	case err != nil:
		r.missing = fmt.Sprintf("no engines in %s, want $ENGINES", r.scripts)
	case os.Getuid() != 0:
		r.missing = "engines run in name spaces that root makes"
	}
	if r.missing != "" {
		return r, nil
	}
	if r.dir != "" { // made by the process outside
		r.thole = filepath.Join(r.dir, "thole")
		return r, nil
	}
	var err error
	if r.dir, err = os.MkdirTemp("", "eng"); err != nil {
		return nil, err
	}
	r.thole = filepath.Join(r.dir, "thole")
	build := exec.Command("go", "build", "-o", r.thole, "./cmd/thole")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return r, nil
})

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == podImage {
		runPod() // which does not return
	}
	flag.Parse()
	code := m.Run()
	if os.Getenv(inside) == "" {
		if r, err := prepare(); err == nil && r.dir != "" {
			for _, engine := range []string{"kube", "slurm"} {
				_ = exec.Command(filepath.Join(r.scripts, engine+"-down.sh"), filepath.Join(r.dir, engine)).Run() // it may not have been started
			}
			if code == 0 {
				_ = os.RemoveAll(r.dir)
			} else {
				fmt.Printf("what the tests left is in %s\n", r.dir)
			}
		}
	}
	os.Exit(code)
}

// ready is the run; where engines cannot run the test is skipped, and says why.
func ready(t *testing.T) *run {
	t.Helper()
	r, err := prepare()
	if err != nil {
		t.Fatal(err)
	}
	if r.missing != "" {
		t.Skip(r.missing)
	}
	return r
}

// within runs the test itself within the spaces of a cluster, whose folder has the script "in", and reports whether this is there already.
func within(t *testing.T, r *run, cluster string) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	c := exec.Command(filepath.Join(cluster, "in"), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout=20m")
	c.Env = append(os.Environ(), inside+"="+r.dir, "THOLE_RUNS=none")
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("within the cluster: %v", err)
	}
	return false
}

// must runs a program and answers with what it prints.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// background runs a program until its end is asked for.
type background struct {
	*exec.Cmd
	out  syncBuffer
	done chan struct{}
	err  error
}

// start starts a program, which is killed if the test ends before it.
func start(t *testing.T, name string, args ...string) *background {
	t.Helper()
	b := &background{Cmd: exec.Command(name, args...), done: make(chan struct{})}
	b.Stdout, b.Stderr = &b.out, &b.out
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { b.err = b.Wait(); close(b.done) }()
	t.Cleanup(func() {
		_ = b.Process.Kill()
		<-b.done
	})
	return b
}

// wait waits for the end of the program, which has to be a good one.
func (b *background) wait(t *testing.T, most time.Duration) {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(most):
		t.Fatalf("%s goes on after %v:\n%s", b.Path, most, b.out.String())
	}
	if b.err != nil {
		t.Fatalf("%s: %v\n%s", b.Path, b.err, b.out.String())
	}
}

// syncBuffer is written to and read at once.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String is what was written until now.
func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits for something that happens in another process.
func until(t *testing.T, what string, most time.Duration, is func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", most, what)
		}
	}
}

// examples writes a file of examples with some features of many, of which each is named by some.
func examples(t *testing.T, path string, lines, features, of int) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, "%d", i%2*2-1)
		for f := range features { // ascending, one of each part
			fmt.Fprintf(&b, " %d:1", 1+f*(of/features)+r.IntN(of/features))
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
