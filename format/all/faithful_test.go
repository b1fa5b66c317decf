package all

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// model is several matrices with files beside them, as a Reader.
type model struct {
	what  string
	of    []memory
	files map[string][]byte
}

func (m model) Matrices() (ms []matrix.Meta) {
	for _, one := range m.of {
		ms = append(ms, one.s.metas()...)
	}
	return ms
}

func (m model) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	for _, one := range m.of {
		if slices.ContainsFunc(one.Matrices(), func(m matrix.Meta) bool { return m.Name == name }) {
			return one.Blocks(ctx, name, want)
		}
	}
	return func(yield func(matrix.Block, error) bool) { yield(matrix.Block{}, format.ErrMatrix) }
}

func (m model) Notes() []string { return nil }

func (m model) Files() map[string][]byte { return m.files }

func (m model) Close() error { return nil }

// changed is the sample as a model of one matrix, whose description is changed.
func changed(what string, s sample, change func(*matrix.Meta)) model {
	change(&s.meta)
	return model{what: what, of: []memory{{s}}}
}

// named are matrices of these names.
func named(what string, files map[string][]byte, unnamed bool, names ...string) model {
	m := model{what: what, files: files}
	for i, name := range names {
		s := dense("", matrix.F32, int64(2+i%3), 4)
		s.meta.Name, s.meta.Unnamed = name, unnamed
		m.of = append(m.of, memory{s})
	}
	return m
}

// noText is a model that no format can hold.
const noText = "labels that are no text"

// models say everything that a description of matrices can say.
func models() []model {
	var invented []string
	for i := range 12 {
		invented = append(invented, fmt.Sprintf("tensor_%02d", i))
	}
	frame := dense("", matrix.F64, 3, 3)
	types := []matrix.DType{matrix.I64, matrix.F32, matrix.U8}
	var blocks []matrix.Block
	for c, d := range types {
		one := matrix.NewDense(d, matrix.At(0, 3, int64(c), int64(c)+1))
		fill(one.Data)
		blocks = append(blocks, one)
	}
	frame.blocks = blocks
	shifted := thin("", matrix.F32, 2, 9, 2)
	for i := range shifted.blocks {
		shifted.blocks[i].At.Cols = matrix.Range{Lo: -4, Hi: 5}
		idx := shifted.blocks[i].Data.(*matrix.CSR[float32]).Idx
		for k := range idx {
			idx[k] -= 4
		}
	}
	some := dense("", matrix.F32, 1, 4)
	whole := thin("", matrix.F64, 3, 4, 1)
	list := []model{
		changed("matrix", dense("", matrix.F32, 3, 4), func(*matrix.Meta) {}),
		changed("vector", dense("", matrix.F32, 1, 3), func(m *matrix.Meta) { m.Dims = []int64{3} }),
		changed("scalar", dense("", matrix.F64, 1, 1), func(m *matrix.Meta) { m.Dims = []int64{} }),
		changed("tensor", dense("", matrix.F32, 2, 12), func(m *matrix.Meta) { m.Dims = []int64{2, 3, 4} }),
		changed("tensor of ones", dense("", matrix.I64, 1, 1), func(m *matrix.Meta) { m.Dims = []int64{1, 1, 1, 1, 1} }),
		changed("labels", dense("", matrix.F32, 2, 3), func(m *matrix.Meta) { m.Labels = []string{"age", "ü, \"x\"", "c"} }),
		changed("odd labels", dense("", matrix.F32, 2, 3), func(m *matrix.Meta) { m.Labels = []string{"1", "a\nb", "'"} }),
		changed(noText, dense("", matrix.F32, 2, 2), func(m *matrix.Meta) { m.Labels = []string{"a", "\xff"} }),
		changed("frame", frame, func(m *matrix.Meta) { m.ColTypes, m.Labels = types, []string{"id", "x", "flag"} }),
		changed("frame without labels", frame, func(m *matrix.Meta) { m.ColTypes = types }),
		changed("meanings", dense("", matrix.I64, 2, 2), func(m *matrix.Meta) {
			m.Labels, m.ColOrigins = []string{"when", "n"}, []string{"timestamp[us, tz=UTC]", ""}
		}),
		changed("columns from 5 on", moved(dense("", matrix.F32, 2, 3), 5), func(m *matrix.Meta) { m.ColLo = 5 }),
		changed("negative keys", shifted, func(m *matrix.Meta) { m.ColLo = -4 }),
		changed("absent rows", some, func(m *matrix.Meta) { m.Rows, m.Saved = 3, []matrix.Range{{Lo: 0, Hi: 1}} }),
		changed("sequences", dense("", matrix.F32, 4, 2), func(m *matrix.Meta) { m.LoD = [][]int64{{0, 1, 4}} }),
		changed("complex", dense("", matrix.F32, 2, 6), func(m *matrix.Meta) { m.Dims, m.Origin = []int64{2, 3, 2}, "complex64" }),
		changed("sparse", thin("", matrix.F32, 6, 40, 3), func(*matrix.Meta) {}),
		changed("sparse, every cell stored", whole, func(*matrix.Meta) {}),
		changed("bf16", dense("", matrix.BF16, 2, 9), func(*matrix.Meta) {}),
		changed("truth values", dense("", matrix.Bool, 2, 3), func(*matrix.Meta) {}),
		changed("large integers", dense("", matrix.U64, 2, 3), func(*matrix.Meta) {}),
		changed("no rows", dense("", matrix.F32, 0, 3), func(*matrix.Meta) {}),
		named("order of names", nil, false, "b", "a", "c"),
		named("odd names", nil, false, "w 1", "ü", "x.y"),
		named("names of folders", nil, false, "fc/w", "fc/b"),
		named("no names", nil, true, invented...),
		named("files", map[string][]byte{"graph.json": []byte("[]"), "__model__": {0xff, 0, 1}, "notes.txt": []byte("n")}, false, "w", "b"),
	}
	with := changed("a network", dense("", matrix.F32, 2, 3), func(*matrix.Meta) {})
	with.files = map[string][]byte{"graph.json": []byte(`{"layers": []}`)}
	for _, s := range forests() {
		list = append(list, model{what: s.what, of: []memory{{s}}, files: s.files})
	}
	return append(list, with)
}

// moved gives the columns of a dense sample other ids.
func moved(s sample, lo int64) sample {
	for i := range s.blocks {
		s.blocks[i].At.Cols.Lo += lo
		s.blocks[i].At.Cols.Hi += lo
	}
	return s
}

// TestFaithful writes every model in every format with every set of options, and converts what was written to every format: each
// time the result says and holds what the source did, or the write is refused, or it is said what was lost.
func TestFaithful(t *testing.T) {
	kept, ran := map[string]int{}, 0
	for _, first := range kinds(t) {
		t.Run(first.name, func(t *testing.T) {
			ran++
			for _, m := range models() {
				t.Run(m.what, func(t *testing.T) {
					if faithfulOn(t, m, first) {
						kept[m.what]++
					}
				})
			}
		})
	}
	for _, m := range models() {
		if ran == len(kinds(t)) && kept[m.what] == 0 && m.what != noText {
			t.Errorf("no format keeps %s", m.what)
		}
	}
}

// faithfulOn converts a model, and the result to every format; it reports whether the first conversion lost nothing.
func faithfulOn(t *testing.T, m model, first kind) bool {
	r, same := faithful(t, m, first, false)
	if r == nil {
		r, _ = faithful(t, m, first, true)
	}
	if r == nil {
		return same
	}
	for _, second := range plainKinds() {
		t.Run("to "+second.name, func(t *testing.T) {
			if again, _ := faithful(t, r, second, false); again == nil {
				faithful(t, r, second, true)
			}
		})
	}
	return same
}

// faithful converts a source and holds the result to it; nil if the write was refused. same reports that nothing was lost.
func faithful(t *testing.T, src format.Reader, to kind, lossy bool) (r format.Reader, same bool) {
	t.Helper()
	ctx, b := context.Background(), empty(t)
	var lost []string
	o := format.Options{Set: to.set, Lossy: lossy, Lost: func(what string) { lost = append(lost, what) }}
	err := format.Convert(ctx, src, to.Codec, b, pathOf(to), o, nil, nil)
	if err != nil {
		if strings.Contains(err.Error(), "unsaid") || strings.Contains(err.Error(), "what was written") {
			t.Errorf("the codec did not know: %v", err)
		}
		if lossy && errors.Is(err, format.ErrLossy) {
			t.Errorf("refused as lossy though that is allowed: %v", err)
		}
		if infos, err := b.List(ctx, ""); err != nil || len(infos) > 0 {
			t.Errorf("refused, and left %v behind, %v", infos, err)
		}
		return nil, false
	}
	r, found, err := Codecs().Open(ctx, b, pathOf(to), "", format.Options{})
	if err != nil {
		t.Fatalf("written and not read: %v", err)
	}
	t.Cleanup(func() { r.Close() })
	if found.Info().Name != to.Info().Name {
		t.Errorf("detected as %s", found.Info().Name)
	}
	if len(lost) > 0 {
		if _, err := cells(ctx, r); err != nil {
			t.Errorf("lost %q, and then: %v", lost, err)
		}
		return r, false
	}
	want, got := src.Matrices(), r.Matrices()
	if !slices.EqualFunc(want, got, func(a, b matrix.Meta) bool { return a.Name == b.Name || len(want) == 1 && b.Unnamed }) {
		t.Errorf("names %q, want %q", names(got), names(want))
		return r, false
	}
	for i := range want {
		if d := format.Differences(&want[i], &got[i]); len(d) > 0 {
			t.Errorf("matrix %q: %v, and nothing was said", want[i].Name, d)
		}
	}
	if diff, err := format.Diff(ctx, src, r); diff != "" || err != nil {
		t.Errorf("%s, %v, and nothing was said", diff, err)
	}
	for name, data := range src.Files() {
		if string(r.Files()[name]) != string(data) {
			t.Errorf("file %s is %q, want %q, and nothing was said", name, r.Files()[name], data)
		}
	}
	return r, true
}

func names(ms []matrix.Meta) (all []string) {
	for _, m := range ms {
		all = append(all, m.Name)
	}
	return all
}

// TestNothingOvertaken lets something appear at the target of every format while it is written: it stays, and the write fails.
func TestNothingOvertaken(t *testing.T) {
	each(t, func(t *testing.T, c kind) {
		for _, s := range plains(t, c) {
			for _, foreign := range []string{pathOf(c), pathOf(c) + "/notes.txt"} {
				b := empty(t)
				late := &onPut{memory{s}, func() {
					if err := blob.WriteAll(context.Background(), b, foreign, []byte("mine")); err != nil {
						t.Fatal(err)
					}
				}}
				err := format.Convert(context.Background(), late, c.Codec, b, pathOf(c), format.Options{Set: c.set}, nil, nil)
				if !errors.Is(err, blob.ErrChanged) {
					t.Errorf("%s: %v, want ErrChanged", foreign, err)
				}
				if got := snapshot(t, b); !maps.Equal(got, map[string]string{foreign: "mine"}) {
					t.Errorf("%s: left %q", foreign, got)
				}
			}
		}
	})
}

// onPut calls a function while its blocks are taken.
type onPut struct {
	memory
	call func()
}

func (r *onPut) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	r.call()
	return r.memory.Blocks(ctx, name, want)
}
