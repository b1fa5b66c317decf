package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestPackReplaced unpacks and explains a model that is replaced all the time, as a file and as a folder: each time it is one of the two, or
// has changed meanwhile, and never taken for damaged.
func TestPackReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("d.dummy", []byte(smallExamples()), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		rc, text := said(t, args...)
		if rc != 0 {
			t.Fatalf("%v: %s", args, text)
		}
		return text
	}
	values := func(model string) string {
		return run("cat", model, "--matrix", "input_bias") + run("cat", model, "--matrix", "input_weight")
	}
	packs := []string{"packed", "packed.zip"}
	var want []string
	for _, rate := range []string{"0.1", "0.5"} {
		run("train", "--data", "d.dummy", "--format", "dummy", "--epochs", "1", "--rate", rate, "--runs", "none", "--model", "m"+rate)
		run("export", "m"+rate, "p"+rate)
		want = append(want, values("p"+rate))
	}
	for _, name := range packs {
		run("pack", "p0.1", name)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, from := range []string{"p0.5", "p0.1"} {
				for _, name := range packs {
					select {
					case <-stop:
						return
					default:
					}
					if rc, text := said(t, "pack", from, name, "--force"); rc != 0 {
						t.Errorf("pack %s: %s", name, text)
						return
					}
				}
			}
		}
	}()
	for range 20 {
		for _, name := range packs {
			if rc, text := said(t, "explain", name); rc != 0 && !strings.Contains(text, "changed meanwhile") {
				t.Errorf("explain %s: %s", name, text[max(0, len(text)-300):])
			}
			rc, text := said(t, "unpack", name, "out", "--force")
			if rc != 0 {
				if !strings.Contains(text, "changed meanwhile") {
					t.Errorf("unpack %s: %s", name, text)
				}
				continue
			}
			if got := values("out"); got != want[0] && got != want[1] {
				t.Errorf("unpack %s: %.200s, want one of the two models", name, got)
			}
		}
	}
	close(stop)
	<-done
	if left, err := filepath.Glob("_tmp.*"); err != nil || len(left) > 0 {
		t.Errorf("%v remain, %v", left, err)
	}
}

// TestStatisticsEnd lets a reader fail when the values are read again, for their histogram.
func TestStatisticsEnd(t *testing.T) {
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 2, DType: matrix.F64}
	if err := new(statistics).count(t.Context(), &onceReader{m: m}, m, (&env{err: io.Discard}).progress("", "", 2)); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("error %v, want that of the second reading", err)
	}
}

// onceReader is a reader of one matrix, which is replaced after it was read.
type onceReader struct {
	format.Reader
	m    matrix.Meta
	read bool
}

func (r *onceReader) Blocks(context.Context, string, matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if r.read {
			yield(matrix.Block{}, blob.ErrChanged)
			return
		}
		r.read = true
		yield(matrix.Block{At: r.m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{1, 2}}}, nil)
	}
}

func (r *onceReader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }
