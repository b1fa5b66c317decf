package shard

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thole.example/wire"
)

// resident is how much of the machine's memory this process has now, without what the garbage collector can give back.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// alone runs the test in a process of its own, unless it is in that, and reports whether it is.
func alone(t *testing.T) bool {
	const name = "THOLE_TEST_ALONE"
	if os.Getenv(name) == t.Name() {
		return true
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), name+"="+t.Name())
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// underRace reports whether the race detector is there, which takes memory of its own for ours.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestResident (D15): what Bytes says is what a table takes of the machine's memory: rows with slots, index, what steps and
// marks keep.
func TestResident(t *testing.T) {
	if underRace() {
		t.Skip("the race detector takes memory, too")
	}
	if !alone(t) {
		return
	}
	const n, dim = 1 << 20, 4 // large beside what the process itself takes
	keys := make([]int64, n)
	for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		keys[i] = tableKey(at)
	}
	val := make([]float32, n*dim)
	for i := range val {
		val[i] = 1
	}
	before := resident(t)
	s := newTable(t, "adagrad", dim, nil)
	defer s.Close()
	all := Delta{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(val)}
	check := func(after string) {
		t.Helper()
		took := resident(t) - before
		if counted := s.Bytes(); counted < took-took/10 || counted > took+took/4 {
			t.Errorf("after %s %d bytes are counted, and %d are taken", after, counted, took)
		}
	}
	if err := s.Set(all); err != nil {
		t.Fatal(err)
	}
	check("new columns")
	if err := s.Apply([]Delta{all, all}, 1, 0.1); err != nil {
		t.Fatal(err)
	}
	check("a step with the gradients of two tasks")
	mark := s.Mark()
	if err := s.Apply([]Delta{all}, 1, 0.1); err != nil {
		t.Fatal(err)
	}
	check("a step beside a mark")
	mark.Close()
	check("the end of the mark")
	runtime.KeepAlive(all) // the test still has them
}

// fileDisk is a Disk in a file.
type fileDisk struct{ f *os.File }

func (d fileDisk) Put(page int, b []byte) error {
	_, err := d.f.WriteAt(b, int64(page)*int64(len(b)))
	return err
}

func (d fileDisk) Get(page int, b []byte) error {
	return wire.ReadAt(d.f, b, int64(page)*int64(len(b)))
}

func (d fileDisk) Bytes() int64 { return 0 }

func (d fileDisk) Close() error { return d.f.Close() }

// TestPagedResident: rows that lie on disk take no memory, also where pages of rows are not pages of the system, and what comes back
// takes no more than there is room for.
func TestPagedResident(t *testing.T) {
	if underRace() {
		t.Skip("the race detector takes memory, too")
	}
	if !alone(t) {
		return
	}
	const n, dim, most = 1 << 18, 37, 4 << 20
	before := resident(t)
	s := newTable(t, "adagrad", dim, nil)
	defer s.Close()
	f, err := os.Create(t.TempDir() + "/rows")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Page(fileDisk{f}); err != nil {
		t.Fatal(err)
	}
	fillTable(t, s, n)
	all := s.Bytes()
	check := func(after string) {
		t.Helper()
		if err := s.Room(-1 << 40); err != nil {
			t.Fatal(err)
		}
		const itself = 4 << 20 // what the process takes for other things meanwhile, about
		took, index := resident(t)-before, int64(n*KeyBytes)
		if counted := s.Bytes(); counted < took-took/4-itself || counted > took+took/4+itself || took > index+index/4+most+all/12+itself {
			t.Errorf("after %s %d bytes are counted and %d are taken of %d", after, counted, took, all)
		}
	}
	check("new columns")
	rng := rand.New(rand.NewPCG(1, 2))
	keys, grads := make([]int64, 1000), make([]float32, 1000*dim)
	for range 20 {
		for i := range keys {
			keys[i] = tableKey(rng.IntN(n))
		}
		if err := s.Apply([]Delta{{Rows: s.At().Rows, Cols: s.At().Cols, Keys: keys, Values: wire.View(grads)}}, 1, 0.1); err != nil {
			t.Fatal(err)
		}
	}
	check("steps")
}
