package server_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// models are the matrices of the tests of saves: dense, sparse, and one of which some rows are saved. A second dense one
// makes every format write a folder.
func models() []matrix.Meta {
	w := matrix.Meta{Name: "w", Rows: 3, Cols: 300, DType: matrix.F32}
	b := matrix.Meta{Name: "b", Rows: 1, Cols: 1, DType: matrix.F32}
	s := matrix.Meta{Name: "s", Rows: 2, Cols: 1 << 13, DType: matrix.F32, Layout: matrix.RowSparse}
	some := matrix.Meta{Name: "some", Rows: 6, Cols: 40, DType: matrix.F32, Saved: []matrix.Range{{Lo: 0, Hi: 2}, {Lo: 4, Hi: 5}}}
	return []matrix.Meta{w, b, s, some}
}

// filled is a block of the whole dense matrix, or of some columns of a sparse one, with values that tell the cell and the
// version.
func filled(m *matrix.Meta, version float32) matrix.Block {
	if m.Layout == matrix.RowSparse {
		d := &matrix.Cols[float32]{}
		for c := int64(3); c < m.Cols; c += 97 {
			d.Idx = append(d.Idx, c)
			for r := range m.Rows {
				d.Val = append(d.Val, version+float32(r)+float32(c)/2)
			}
		}
		return matrix.Block{At: m.Rect(), Data: d}
	}
	b := matrix.NewDense(m.DType, m.Rect())
	val := b.Data.Values().([]float32)
	for i := range val {
		val[i] = version + float32(i)/4
	}
	return b
}

// onServers runs one task on new servers over the bucket, with the matrices made there.
func onServers(t *testing.T, bucket blob.Bucket, servers int, cut string, ms []matrix.Meta, task func(ctx context.Context, p *ps.Client) error) {
	t.Helper()
	c := newCluster(t, &mem.Network{}, 0)
	c.bucket = bucket
	c.start(servers)
	c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := p.Create(ctx, cut, ms...); err != nil {
			return err
		}
		return task(ctx, p)
	})
}

// fill pushes what filled says and waits for it.
func fill(ctx context.Context, p *ps.Client, ms []matrix.Meta, version float32) error {
	for i := range ms {
		if err := p.Push(ms[i].Name, filled(&ms[i], version)); err != nil {
			return err
		}
	}
	return p.SyncClock(ctx)
}

// equal wants the matrix on the servers to be what filled says, rows that are not saved zero.
func equal(ctx context.Context, p *ps.Client, m *matrix.Meta, version float32) error {
	want := filled(m, version)
	cols := []int64{}
	if d, ok := want.Data.(matrix.Keyed); ok {
		cols = slices.Clone(d.Keys())
	} else {
		for c := range m.Cols {
			cols = append(cols, c)
		}
	}
	got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: m.Name, Cols: cols}})
	if err != nil {
		return err
	}
	all := got[0].ToDense().Data.Values().([]float32)
	wanted := want.ToDense().Data.Values().([]float32)
	for r := range m.Rows {
		kept := slices.ContainsFunc(m.SavedRows(), func(x matrix.Range) bool { return x.Has(r) })
		for _, c := range cols {
			i := r*m.Cols + c
			if v := wanted[i]; kept && all[i] != v || !kept && all[i] != 0 {
				return fmt.Errorf("matrix %s: cell (%d,%d) is %v, want %v (saved: %v)", m.Name, r, c, all[i], v, kept)
			}
		}
	}
	return nil
}

// TestSaveLoad (T20) saves on four servers and loads on seven and on one, in every format.
func TestSaveLoad(t *testing.T) {
	for _, c := range codecs {
		if c.Info().Writes == "" || c.Info().Needs != "" { // what those hold is no such matrices
			continue
		}
		for _, m := range models() {
			if testing.Short() && m.Cols > 1<<12 && (c.Info().Name == "parquet" || c.Info().Name == "arrow") {
				continue // a field for each of thousands of columns; the other models run the same goroutines
			}
			t.Run(c.Info().Name+"/"+m.Name, func(t *testing.T) {
				ms := []matrix.Meta{m}
				bucket, path := &blob.Mem{}, "dir/"+m.Name+c.Info().Ext
				var refused error
				onServers(t, bucket, 4, "range", ms, func(ctx context.Context, p *ps.Client) error {
					if err := fill(ctx, p, ms, 1); err != nil {
						return err
					}
					o := ps.SaveOptions{Codec: c.Info().Name, Path: path}
					refused = p.Save(ctx, o)
					if refused != nil && strings.Contains(refused.Error(), format.ErrLossy.Error()) { // what is lost is no value
						o.Lossy = true
						return p.Save(ctx, o)
					}
					return refused
				})
				special := m.Saved != nil || m.Layout == matrix.RowSparse || c.Info().Name == "libsvm" // which is always sparse
				if refused != nil && !special {
					t.Errorf("a plain dense matrix loses something: %v", refused)
				}
				for _, servers := range []int{7, 1} {
					cut := "column"
					if m.Layout == matrix.RowSparse {
						cut = "hash"
					}
					onServers(t, bucket, servers, cut, ms, func(ctx context.Context, p *ps.Client) error {
						if err := fill(ctx, p, ms, 100); err != nil { // what was there before is replaced
							return err
						}
						if err := p.Load(ctx, ps.LoadOptions{Path: path}); err != nil {
							return err
						}
						return equal(ctx, p, &m, 1)
					})
				}
			})
		}
	}
}

// TestLoadFewerRows wants rows that the path has beyond those of the matrix left out, and a path with fewer refused.
func TestLoadFewerRows(t *testing.T) {
	bucket := &blob.Mem{}
	big := models()[:1]
	onServers(t, bucket, 3, "", big, func(ctx context.Context, p *ps.Client) error {
		if err := fill(ctx, p, big, 1); err != nil {
			return err
		}
		return p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "m"})
	})
	small := big[0]
	small.Rows = 2
	onServers(t, bucket, 2, "", []matrix.Meta{small}, func(ctx context.Context, p *ps.Client) error {
		if err := p.Load(ctx, ps.LoadOptions{Path: "m"}); err != nil {
			return err
		}
		return equal(ctx, p, &small, 1)
	})
	large := big[0]
	large.Rows = 4
	onServers(t, bucket, 2, "", []matrix.Meta{large}, func(ctx context.Context, p *ps.Client) error {
		if err := p.Load(ctx, ps.LoadOptions{Path: "m"}); err == nil {
			return errors.New("three rows fill a matrix of four")
		}
		if err := p.Load(ctx, ps.LoadOptions{Path: "nothing"}); err == nil {
			return errors.New("nothing is loaded")
		}
		return nil
	})
}

// TestLoadFails wants a load that fails to change nothing on any matrix of a server.
func TestLoadFails(t *testing.T) {
	bucket := &blob.Mem{}
	ms := models()[:2]
	onServers(t, bucket, 1, "", ms, func(ctx context.Context, p *ps.Client) error {
		if err := fill(ctx, p, ms, 1); err != nil {
			return err
		}
		if err := p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "m", Matrices: []string{"w"}}); err != nil {
			return err
		}
		if err := p.Load(ctx, ps.LoadOptions{Path: "m", Matrices: []string{"w", "b"}}); err == nil {
			return errors.New("a matrix that the path does not hold is loaded")
		}
		if err := fill(ctx, p, ms, 1); err != nil {
			return err
		}
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w"}})
		if err == nil && got[0].Data.Values().([]float32)[4] != 4 {
			err = fmt.Errorf("cell 4 is %v after two fills, want 4", got[0].Data.Values().([]float32)[4])
		}
		return err
	})
}

// failing is a bucket in which the at-th change fails, and all after it, as on a disk that is full; removing works.
type failing struct {
	blob.Bucket
	at   int64
	done atomic.Int64
}

func (f *failing) fail() error {
	if f.done.Add(1) >= f.at {
		return errFull
	}
	return nil
}

func (f *failing) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	w, err := f.Bucket.Create(ctx, name)
	return &failingWriter{w, f}, err
}

func (f *failing) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Bucket.Publish(ctx, from, to, over)
}

type failingWriter struct {
	blob.Writer
	f *failing
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if err := w.f.fail(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

func (w *failingWriter) WriteAt(p []byte, off int64) (int, error) {
	if err := w.f.fail(); err != nil {
		return 0, err
	}
	return w.Writer.WriteAt(p, off)
}

func (w *failingWriter) Commit() error {
	if err := w.f.fail(); err != nil {
		return err
	}
	return w.Writer.Commit()
}

// TestSaveFails lets the bucket fail at every change of a save that replaces a model: what is there afterwards is the
// old model or the new one, and nothing else is to be seen, also not of what was staged.
func TestSaveFails(t *testing.T) {
	ms := models()[:2]
	ms[0].Rows, ms[0].Cols, ms[1].Rows = 2, 5, 2 // so few values that there are few changes, and each of them can fail
	for _, c := range codecs {
		if c.Info().Writes == "" || c.Info().Needs != "" { // what those hold is no such matrices
			continue
		}
		t.Run(c.Info().Name, func(t *testing.T) {
			for n := int64(1); ; n++ {
				if n > 50_000 {
					t.Fatal("50000 changes are not enough")
				}
				store := &blob.Mem{}
				f := &failing{Bucket: store, at: 1 << 62}
				o := ps.SaveOptions{Codec: c.Info().Name, Path: "dir/m", Lossy: true, Files: map[string][]byte{"graph.json": []byte("{}")}}
				var err error
				onServers(t, f, 3, "", ms, func(ctx context.Context, p *ps.Client) error {
					if err := fill(ctx, p, ms, 1); err != nil {
						return err
					}
					if err := p.Save(ctx, o); err != nil {
						return err
					}
					if err := fill(ctx, p, ms, 1); err != nil { // version 2, twice the rest
						return err
					}
					f.done.Store(0)
					f.at = n
					err = p.Save(ctx, o)
					return nil
				})
				first := value(t, store, o)
				if _, serr := blob.Settle(t.Context(), store, o.Path); serr != nil { // as the next save does
					t.Error(serr)
				}
				if now := version(t, store, o); now != first {
					t.Errorf("version %v once the replacement has ended, and %v before", now, first)
				}
				if err == nil {
					if first != 2 {
						t.Errorf("save without an error left version %v", first)
					}
					return
				}
				if !strings.Contains(err.Error(), errFull.Error()) {
					t.Errorf("change %d fails: error %v", n, err)
				}
				if first != 1 && first != 2 {
					t.Errorf("change %d fails: version %v", n, first)
				}
			}
		})
	}
}

// value is the version of the model in the bucket, the same in all of its matrices.
func value(t *testing.T, b blob.Bucket, o ps.SaveOptions) float32 {
	t.Helper()
	r, _, err := codecs.Open(t.Context(), b, o.Path, "", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found := map[float32]bool{}
	var v float32
	for _, m := range r.Matrices() {
		for block, err := range r.Blocks(t.Context(), m.Name, m.Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			if block.At.Cols.Lo == 0 && block.At.Rows.Lo == 0 {
				block, _ = block.ToDense().Cast(matrix.F32) // text without its sidecar does not tell the type
				v = block.Data.Values().([]float32)[0]
				found[v] = true
			}
		}
	}
	if len(found) != 1 || len(r.Matrices()) != 2 {
		t.Errorf("%d matrices of the versions %v, want two of one", len(r.Matrices()), found)
	}
	return v
}

// version is its value, with nothing left beside it.
func version(t *testing.T, b blob.Bucket, o ps.SaveOptions) float32 {
	t.Helper()
	v := value(t, b, o)
	infos, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.Name != o.Path && i.Name != o.Path+format.SidecarExt && i.Name != o.Path+".graph.json" && !strings.HasPrefix(i.Name, o.Path+"/") {
			t.Errorf("left behind: %s", i.Name)
		}
	}
	return v
}

// TestSaveCancelled wants a save that is given up in its middle to leave nothing, not even hidden.
func TestSaveCancelled(t *testing.T) {
	ms := models()[:2]
	for n := int64(1); n < 12; n += 2 {
		folder := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		b := &cancelling{failing{Bucket: blob.NewDir(folder), at: n}, cancel}
		c := newCluster(t, &mem.Network{}, 0)
		c.bucket = b
		c.start(3)
		p, err := ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Tasks: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Create(t.Context(), "", ms...); err != nil {
			t.Fatal(err)
		}
		if err := p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "dir/m"}); err == nil || !strings.Contains(err.Error(), errFull.Error()) {
			t.Errorf("given up at change %d: %v", n, err)
		}
		if err := p.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		p.Close()
		if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Errorf("given up at change %d: left %s", n, path)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		cancel(nil)
	}
}

// cancelling is a bucket whose at-th change makes the caller give up.
type cancelling struct {
	failing
	cancel context.CancelCauseFunc
}

func (c *cancelling) Create(ctx context.Context, name string) (blob.Writer, error) {
	if c.fail() != nil {
		c.cancel(errFull)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.Bucket.Create(ctx, name)
}
