package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"thole.example/blob"
	"thole.example/internal/seeds"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/state"
	"thole.example/wire"
)

// changed are matrices that change in all ways: cells and columns, with and without rules, that are made, expire and are removed.
func changed() []matrix.Meta {
	all := kept()[:3]
	return append(all,
		matrix.Meta{Name: "dense", Rows: 3, Cols: 2000, DType: matrix.F64},
		matrix.Meta{Name: "stepped", Rows: 2, Cols: 70, DType: matrix.F32, Rule: "adam", Init: matrix.Init{Kind: "uniform", Scale: 1, Seed: 4}},
		matrix.Meta{Name: "sparse", Rows: 4, Cols: 150, DType: matrix.I64, Layout: matrix.RowSparse, BlockRows: 2},
		matrix.Meta{Name: "slots", Rows: 3, Cols: 150, DType: matrix.F64, Layout: matrix.RowSparse, BlockRows: 1, BlockCols: 50, Rule: "adagrad"},
	)
}

// history is what a job does, by chance, and again in the same way on another cluster.
type history struct {
	t     *testing.T
	metas []matrix.Meta
	rng   *rand.Rand
}

// on has one task do something on new servers, which cut the matrices by chance; how says how, the same for the same number.
func (h *history) on(how uint64, bucket blob.Bucket, do func(ctx context.Context, p *ps.Client) error) {
	h.t.Helper()
	rng := rand.New(rand.NewPCG(how, 1))
	f := newFleet(h.t, "mem", 1+rng.IntN(3), bucket, nil)
	f.run(1, 0, func(ctx context.Context, p *ps.Client, _ int) error {
		for _, m := range h.metas {
			cuts := []string{"column", "range"}
			switch {
			case m.Keep != (matrix.Keep{}):
				cuts = []string{"hash", "column"}
			case m.Layout == matrix.RowSparse:
				cuts = append(cuts, "hash")
			}
			if err := p.Create(ctx, cuts[rng.IntN(len(cuts))], m); err != nil {
				return err
			}
		}
		return do(ctx, p)
	})
}

// live does a few things with the matrices.
func (h *history) live(ctx context.Context, p *ps.Client) error {
	for range 1 + h.rng.IntN(4) {
		for i := range h.metas {
			m := &h.metas[i]
			if h.rng.IntN(3) > 0 {
				if err := p.Push(m.Name, h.delta(m)); err != nil {
					return err
				}
			}
			if h.rng.IntN(12) > 0 {
				continue
			}
			if err := h.function(ctx, p, m); err != nil {
				return err
			}
		}
		if err := p.Clock(ctx, 1, 0.25); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) function(ctx context.Context, p *ps.Client, m *matrix.Meta) error {
	w, err := p.Matrix(m.Name)
	if err != nil {
		return err
	}
	switch row := h.rng.Int64N(m.Rows); h.rng.IntN(5) {
	case 0:
		return w.Update(ctx, "adds", psf.Args{"from": row, "s": 2})
	case 1:
		return w.Update(ctx, "fill", psf.Args{"rows": []int64{row}, "value": h.rng.IntN(2)})
	case 2:
		return w.Update(ctx, "reset", psf.Args{"rows": []int64{row}})
	case 3:
		return w.Update(ctx, "compress", nil)
	}
	return w.Update(ctx, "zero", nil)
}

// delta is some columns of some rows that lie beside each other.
func (h *history) delta(m *matrix.Meta) matrix.Block {
	lo := h.rng.Int64N(m.Rows)
	at := m.Rect()
	if m.Rule == "" {
		at.Rows = matrix.Range{Lo: lo, Hi: lo + 1 + h.rng.Int64N(m.Rows-lo)}
	}
	var keys []int64
	for c := m.ColLo + h.rng.Int64N(40); c < m.ColLo+m.Cols; c += 1 + h.rng.Int64N(m.Cols/2) {
		keys = append(keys, c)
	}
	d := matrix.KindOf(m.DType).Cols(keys, int(at.Rows.Len()))
	switch v := d.Values().(type) {
	case []float32:
		for i := range v {
			v[i] = float32(h.rng.IntN(9) - 4)
		}
	case []float64:
		for i := range v {
			v[i] = float64(h.rng.IntN(9) - 4)
		}
	case []int64:
		for i := range v {
			v[i] = h.rng.Int64N(5) - 2
		}
	}
	return matrix.Block{At: at, Data: d}
}

// whole is all that a whole checkpoint has of the partitions, by what it is.
func (h *history) whole(bucket blob.Bucket, path string) map[string]string {
	h.t.Helper()
	in, err := state.NewInput(h.t.Context(), bucket, path)
	if err != nil {
		h.t.Fatal(err)
	}
	defer in.Close()
	out := map[string]string{}
	for i := range in.Matrices {
		m := &in.Matrices[i]
		for id := range m.Records {
			what := func(key int64, text string) { out[fmt.Sprintf("%s/%d/%s %d", m.Meta.Name, id, text, key)] = "+" }
			err := in.Record(h.t.Context(), m, id, func(p *state.Partition, b state.Band) error {
				what(p.Steps, fmt.Sprintf("steps, aged %v, absent %x", p.Aged, p.Absent))
				for i, key := range b.Keys {
					switch {
					case b.Counts != nil:
						what(key, fmt.Sprintf("candidate %d %d", b.Counts[i], b.Last[i]))
						continue
					case b.Last != nil:
						what(key, fmt.Sprintf("named %d", b.Last[i]))
					}
					raw, size := wire.ViewAny(b.Values[0].Data.Values())
					what(key, fmt.Sprintf("column %x", raw[i*int(p.Width())*size:][:int(p.Width())*size]))
				}
				for slot, v := range b.Values {
					if b.Keys == nil {
						raw, _ := wire.ViewAny(v.Data.Values())
						what(int64(slot), fmt.Sprintf("cells at %v: %x", v.At, raw))
					}
				}
				return nil
			})
			if err != nil {
				h.t.Fatal(err)
			}
		}
	}
	return out
}

// same compares what is restored from two checkpoints on equal servers, and what becomes of both.
func (h *history) same(seed uint64, bucket blob.Bucket, increment, whole string) {
	h.t.Helper()
	var got [2][2]map[string]string
	for i, path := range []string{increment, whole} {
		h.rng = rand.New(rand.NewPCG(seed, 7))
		h.on(seed, bucket, func(ctx context.Context, p *ps.Client) error {
			_, err := p.Restore(ctx, path)
			for k := range 2 {
				name := fmt.Sprint("again/", increment, i, k)
				if err = errors.Join(err, p.Checkpoint(ctx, name)); err != nil {
					return err
				}
				got[i][k] = h.whole(bucket, name)
				err = h.live(ctx, p)
			}
			return err
		})
	}
	for k := range 2 {
		for text := range got[0][k] {
			if got[1][k][text] == "" {
				h.t.Fatalf("%s, after %d histories: %.200s, which is not in the whole one", increment, k, text)
			}
			delete(got[1][k], text)
		}
		for text := range got[1][k] {
			h.t.Fatalf("%s, after %d histories: %.200s is missing", increment, k, text)
		}
	}
}

// increments has a job make some increments, in dir, each followed by a whole checkpoint of the same moment, and calls made after each.
// They go on from base, and are numbered from n.
func (h *history) increments(ctx context.Context, p *ps.Client, dir, base string, n int, made func(increment, whole string)) (string, int, error) {
	first := base
	if base != "" {
		if _, err := p.Restore(ctx, base); err != nil {
			return base, n, err
		}
	}
	for range 1 + h.rng.IntN(3) {
		if err := h.live(ctx, p); err != nil {
			return base, n, err
		}
		increment, whole := fmt.Sprint(dir, "increment", n), fmt.Sprint("whole", n)
		err := p.CheckpointSince(ctx, increment, base)
		if errors.Is(err, rpc.ErrRefused) && first != "" { // bands of rows are others than those of the base
			err = p.CheckpointSince(ctx, increment, "")
		}
		if err = errors.Join(err, p.Checkpoint(ctx, whole)); err != nil {
			return base, n, err
		}
		made(increment, whole)
		base = increment
		n++
	}
	return base, n, nil
}

// TestIncrements: what increments give is what a whole checkpoint of the same moment gives, to the last bit, on any servers, and
// training that goes on from both is the same. A job goes on with increments of what it was restored from.
func TestIncrements(t *testing.T) {
	for seed := range seeds.Of(t, "INCREMENT", 60, 6).All() {
		h := &history{t: t, metas: changed(), rng: rand.New(rand.NewPCG(seed, 3))}
		bucket, base, n := &blob.Mem{}, "", 0
		for range 1 + h.rng.IntN(3) {
			h.on(h.rng.Uint64(), bucket, func(ctx context.Context, p *ps.Client) (err error) {
				base, n, err = h.increments(ctx, p, "", base, n, func(string, string) {})
				return err
			})
		}
		for k := range n {
			h.same(seed+uint64(k), bucket, fmt.Sprint("increment", k), fmt.Sprint("whole", k))
		}
	}
}

// TestIncrementOtherSettings: a job may count ages of columns, or not, whatever the job did whose increments it goes on from.
func TestIncrementOtherSettings(t *testing.T) {
	keep := []matrix.Keep{{ExpireAfter: 9}, {}, {ExpireAfter: 30}, {AdmitAfter: 2, ExpireAfter: 4}}
	for seed := range uint64(8) {
		bucket, h := &blob.Mem{}, &history{t: t}
		for n, k := range keep {
			h.metas = kept()[:2]
			for i := range h.metas {
				h.metas[i].Keep = k
			}
			h.goOn(seed, n, bucket)
			h.same(seed, bucket, fmt.Sprint("increment", n), fmt.Sprint("whole", n))
		}
	}
}

// goOn is the n-th of jobs that go on from one another with increments, and wants the same of one that does with whole ones.
func (h *history) goOn(seed uint64, n int, bucket blob.Bucket) {
	h.t.Helper()
	increment, whole, from, base := fmt.Sprint("increment", n), fmt.Sprint("whole", n), fmt.Sprint("from", n), ""
	if n > 0 {
		base = fmt.Sprint("increment", n-1)
	}
	again := func(restore string, write func(ctx context.Context, p *ps.Client) error) {
		h.rng = rand.New(rand.NewPCG(seed, uint64(n)))
		h.on(seed+uint64(n), bucket, func(ctx context.Context, p *ps.Client) error {
			if n > 0 {
				if _, err := p.Restore(ctx, restore); err != nil {
					return err
				}
			}
			return errors.Join(h.live(ctx, p), write(ctx, p))
		})
	}
	again(base, func(ctx context.Context, p *ps.Client) error {
		return errors.Join(p.CheckpointSince(ctx, increment, base), p.Checkpoint(ctx, whole))
	})
	again(fmt.Sprint("whole", n-1), func(ctx context.Context, p *ps.Client) error { return p.Checkpoint(ctx, from) })
	if !maps.Equal(h.whole(bucket, from), h.whole(bucket, whole)) {
		h.t.Errorf("seed %d: job %d goes on from increments otherwise than from a whole checkpoint", seed, n)
	}
}

// tiny is a matrix whose columns go away.
func tiny() []matrix.Meta {
	return []matrix.Meta{{Name: "s", Rows: 1, Cols: 40, DType: matrix.F64, Layout: matrix.RowSparse, Rule: "sgd", Keep: matrix.Keep{ExpireAfter: 2}}}
}

// step makes a step that names one column of the first matrix.
func (f *fleet) step(ctx context.Context, p *ps.Client, key int64) error {
	m := &f.metas[0]
	b := matrix.Block{At: m.Rect(), Data: &matrix.Cols[float64]{Idx: []int64{key}, Val: []float64{1}}}
	return errors.Join(p.Push(m.Name, b), p.Clock(ctx, 1, 0.5))
}

// TestIncrementRefused: an increment of what is no base is not written, and one whose base is not what it was is not restored;
// the error says what to do, and nothing is changed.
func TestIncrementRefused(t *testing.T) {
	bucket := &blob.Mem{}
	f := newFleet(t, "mem", 2, bucket, tiny())
	f.run(1, 0, func(ctx context.Context, p *ps.Client, _ int) error {
		since := func(path, base string, kind error, texts ...string) {
			t.Helper()
			err := p.CheckpointSince(ctx, path, base)
			if kind == nil && err == nil {
				return
			}
			fails(t, path, err, kind, texts...)
		}
		restored := func(path string, kind error, texts ...string) {
			t.Helper()
			before, err := f.bits(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Restore(ctx, path)
			fails(t, path, err, kind, texts...)
			if after, err := f.bits(ctx, p); err != nil || !maps.Equal(before, after) {
				t.Errorf("%s: values have changed: %v", path, err)
			}
		}
		const advice = "write a whole one first, with an empty base"
		if err := errors.Join(f.step(ctx, p, 1), p.Checkpoint(ctx, "plain")); err != nil {
			return err
		}
		since("b", "a", rpc.ErrNotFound, "a/checkpoint", advice)
		since("b", "plain", rpc.ErrRefused, `since checkpoint "plain" is not known`, "its last ones are []", advice)
		since("a", "", nil)
		since("a", "a", rpc.ErrRefused, `checkpoint "a" is one that "a" is based on`)
		since("b", "a", nil)
		since("c", "b", nil)
		since("a", "c", rpc.ErrRefused, `checkpoint "a" is one that "c" is based on`)
		since("d", "a", rpc.ErrRefused, `its last ones are ["c" "a"]`)
		if err := errors.Join(f.step(ctx, p, 2), p.Checkpoint(ctx, "b")); err != nil {
			return err
		}
		restored("c", rpc.ErrRefused, "based on b with the identity", "restore another checkpoint")
		if err := bucket.Remove(ctx, "b/checkpoint"); err != nil {
			return err
		}
		restored("c", rpc.ErrNotFound, "checkpoint c is based on b, which cannot be read")
		since("d", "c", rpc.ErrNotFound, "checkpoint c is based on b, which cannot be read", advice)
		since("d", "", nil)
		if err := p.Checkpoint(ctx, "x"); err != nil {
			return err
		}
		since("e", "x", rpc.ErrRefused, `since checkpoint "x" is not known`)
		since("e", "d", nil)
		if err := p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "model", Lossy: true}); err != nil {
			return err
		}
		if err := p.Load(ctx, ps.LoadOptions{Path: "model"}); err != nil {
			return err
		}
		since("f", "e", rpc.ErrRefused, "what has changed since is not known", "as where something was loaded", advice)
		since("f", "", nil)
		if err := p.Create(ctx, "", matrix.Meta{Name: "late", Rows: 1, Cols: 3, DType: matrix.F32}); err != nil {
			return err
		}
		since("g", "f", rpc.ErrRefused, `has matrices ["s"], the job ["late" "s"]`, advice)
		since("g", "", nil)
		since("h", "g", nil)
		return nil
	})
}

// TestIncrementLimit: so many are based on each other, and no more.
func TestIncrementLimit(t *testing.T) {
	bucket := &blob.Mem{}
	f := newFleet(t, "mem", 1, bucket, []matrix.Meta{{Name: "d", Rows: 1, Cols: 1, DType: matrix.F32, BlockCols: 1}})
	f.run(1, 0, func(ctx context.Context, p *ps.Client, _ int) error {
		for i := range state.BaseLimit + 2 {
			base := fmt.Sprint(i - 1)
			if i == 0 {
				base = ""
			}
			err := p.CheckpointSince(ctx, fmt.Sprint(i), base)
			if i > state.BaseLimit {
				fails(t, "one more", err, rpc.ErrRefused, `"100" is based on 100 others, want fewer than 100`)
			} else if err != nil {
				return err
			}
		}
		_, err := p.Restore(ctx, fmt.Sprint(state.BaseLimit))
		return err
	})
}

// TestIncrementFaults lets every operation of the disk fail once, or has the caller give up there: what had changed until then is
// in the next increment of the same base, or of the one that came about all the same.
func TestIncrementFaults(t *testing.T) {
	for _, give := range []bool{false, true} {
		done := false
		for n := int64(1); !done; n++ {
			b := &stubborn{Bucket: blob.NewDir(t.TempDir())}
			f := newFleet(t, "mem", 2, b, tiny())
			h := &history{t: t}
			f.run(1, 0, func(ctx context.Context, p *ps.Client, _ int) error {
				if err := errors.Join(f.step(ctx, p, 1), f.step(ctx, p, 2), p.CheckpointSince(ctx, "a", "")); err != nil {
					return err
				}
				for key := range int64(4) { // column 1 goes away
					if err := f.step(ctx, p, 3+key); err != nil {
						return err
					}
				}
				within, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				if give {
					b.stop = func() { cancel(errStubborn) }
				}
				b.left.Store(n)
				err := p.CheckpointSince(within, "b", "a")
				done = b.left.Load() > 0
				b.left.Store(0)
				b.stop = nil
				base := "a"
				if err == nil {
					base = "b"
				}
				for i := range 2 {
					path := fmt.Sprint("c", i)
					whole := fmt.Sprint("whole", i)
					if err := errors.Join(f.step(ctx, p, 9), p.CheckpointSince(ctx, path, base), p.Checkpoint(ctx, whole)); err != nil {
						return fmt.Errorf("operation %d, then: %w", n, err)
					}
					if _, err := p.Restore(ctx, path); err != nil {
						return fmt.Errorf("operation %d: %w", n, err)
					}
					if err := p.Checkpoint(ctx, "again"); err != nil {
						return err
					}
					if got, want := h.whole(b, "again"), h.whole(b, whole); !maps.Equal(got, want) {
						return fmt.Errorf("operation %d: %v, want %v", n, got, want)
					}
					base = path
				}
				return nil
			})
		}
	}
}
