package interp

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"thole.example/program"
)

// FuzzRun runs damaged programs on made-up inputs: no panic, whatever they say.
func FuzzRun(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(savedDir, "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && program.Sniff(data) != "" {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := program.Decode(data)
		if err != nil {
			return
		}
		params := map[string]*Tensor{}
		for _, v := range p.Params() {
			port := Port{Name: v.Name, Dims: v.Dims}
			port.Type, err = runType(v.Elem)
			if n, ok := v.Elems(); err != nil || !ok || n > 1<<10 {
				return
			}
			if params[v.Name], err = (&Tensor{Type: port.Type}).like(sizes(v.Dims)); err != nil {
				return
			}
		}
		m, err := New(p, params)
		if err != nil {
			return
		}
		feeds := map[string]*Tensor{}
		for _, in := range m.Inputs() {
			if feeds[in.Name], err = (&Tensor{Type: in.Type}).like(sizes(in.Dims)); err != nil || feeds[in.Name].Len() > 1<<10 {
				return
			}
		}
		ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer stop()
		_, _ = m.Run(ctx, feeds)
	})
}

// sizes takes 2 for what is not known.
func sizes(dims []int64) []int {
	all := []int{}
	for _, d := range dims {
		if d < 0 {
			d = 2
		}
		all = append(all, int(min(d, maxElems+1)))
	}
	return all
}
