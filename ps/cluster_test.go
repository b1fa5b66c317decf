package ps_test

import (
	"context"
	"slices"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
)

// cluster is some stores on a fake network.
type cluster struct {
	*fake
	stores []*store
}

func newCluster(servers int) *cluster {
	c := &cluster{fake: &fake{down: map[int]bool{}}}
	for i := range servers {
		s := &store{first: uint32(10 * i)} // matrices have other numbers on every server
		c.stores = append(c.stores, s)
		c.handlers = append(c.handlers, s)
	}
	return c
}

// failer is a test.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// dial is a client of a job with one task.
func (c *cluster) dial(t failer, o ps.Options) *ps.Client {
	t.Helper()
	o.Network, o.Servers, o.Job = c.fake, c.addrs(), "j"
	o.Tasks = max(1, o.Tasks)
	if o.Funcs == nil {
		o.Funcs = fakeFuncs
	}
	p, err := ps.Dial(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// right wants nothing wrong noted by the stores.
func (c *cluster) right(t failer) {
	t.Helper()
	for i, s := range c.stores {
		s.mu.Lock()
		if len(s.wrong) > 0 {
			t.Fatalf("server %d: %q", i, s.wrong)
		}
		s.mu.Unlock()
	}
}

// sum is the cell's value on the servers, which only its owner has.
func (c *cluster) sum(name string, at cell) (v float64) {
	for _, s := range c.stores {
		s.mu.Lock()
		for _, m := range s.mats {
			if m.meta.Name == name {
				v += m.value[at]
			}
		}
		s.mu.Unlock()
	}
	return v
}

// create makes matrices and gives the first one.
func create(t failer, p *ps.Client, cut string, ms ...matrix.Meta) *ps.Matrix {
	t.Helper()
	if err := p.Create(context.Background(), cut, ms...); err != nil {
		t.Fatal(err)
	}
	m, err := p.Matrix(ms[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dense(at matrix.Rect, val ...float64) matrix.Block {
	return matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: val}}
}

// The 1 x 1 matrix w, and where its cell is.
var (
	oneMeta = matrix.Meta{Name: "w", Rows: 1, Cols: 1, DType: matrix.F64}
	oneAt   = matrix.At(0, 1, 0, 1)
)

// fakeFuncs are the functions that a store knows: "double", and "parts", whose answer is those of all partitions, one after
// the other.
var fakeFuncs = func() *psf.Table {
	all := psf.Rows{All: true}
	table, _ := psf.NewTable([]psf.Func{
		{Name: "double", Bind: func(psf.Args, *matrix.Meta) (*psf.Call, error) { return &psf.Call{Writes: all}, nil }},
		{Name: "parts", Bind: func(psf.Args, *matrix.Meta) (*psf.Call, error) {
			return &psf.Call{Reads: all, Merge: func(parts [][]byte) (psf.Answer, error) { return slices.Concat(parts...), nil }}, nil
		}},
	}, nil)
	return table
}()
