package extend

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// Vec is a storage format: a matrix of float32 in a file.
//
//	0  4  "VEC1"
//	4  4  rows, little-endian
//	8  4  columns
//	12    values, row by row, little-endian
//
// format.Folder lends it folders of several such files; format.NewSlabWriter writes it from any number of processes.
var Vec = format.Folder(vec{})

const (
	magic   = "VEC1"
	headLen = 12
)

type vec struct{}

// Info implements format.Codec.
func (vec) Info() format.Info {
	return format.Info{Name: "vec", Title: "vectors of an example", Ext: ".vec", Single: true,
		Reads: "matrices of float32", Writes: "the same"}
}

// Sniff implements format.Codec.
func (vec) Sniff(ctx context.Context, b blob.Bucket, p string) (string, error) {
	o, err := b.Open(ctx, p)
	if err != nil {
		return "", err
	}
	defer o.Close()
	head := make([]byte, len(magic))
	if n, _ := o.ReadAt(head, 0); n < len(head) || string(head) != magic {
		return "", nil
	}
	return "version 1", nil
}

// Open implements format.Codec.
func (vec) Open(ctx context.Context, b blob.Bucket, p string, _ format.Options) (format.Reader, error) {
	o, err := b.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	r := &reader{object: o}
	head := make([]byte, headLen)
	if n, _ := o.ReadAt(head, 0); n < headLen || string(head[:4]) != magic {
		err = format.Corrupt("vec", p, int64(n), "% x, want a header of %d bytes that begins with %s", head[:n], headLen, magic)
	} else {
		rows, cols := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
		r.m = matrix.Meta{Name: blob.Stem(p), Unnamed: true,
			Rows: int64(rows), Cols: int64(cols), DType: matrix.F32}
		r.slab = format.Slab{Name: r.m.Name, At: r.m.Rect(), DType: matrix.F32, Off: headLen}
		if size, ok := r.slab.Size(); !ok || headLen+size != o.Size() {
			err = format.Corrupt("vec", p, o.Size(), "%d bytes, want %d x %d values after a header of %d", o.Size(), rows, cols, headLen)
		}
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return r, nil
}

// Create implements format.Codec. What the format cannot hold passes the gate of losses.
func (vec) Create(ctx context.Context, b blob.Bucket, p string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if len(ms) != 1 {
		return nil, fmt.Errorf("%d matrices, want 1 in a file: %w", len(ms), format.ErrLimit)
	}
	m := ms[0]
	if m.Rows > math.MaxUint32 || m.Cols > math.MaxUint32 {
		return nil, fmt.Errorf("matrix %q: %d x %d, want sizes below 2^32: %w", m.Name, m.Rows, m.Cols, format.ErrLimit)
	}
	if err := format.LoseToDense(&m, &o); err != nil {
		return nil, err
	}
	for _, l := range []struct {
		is   bool
		of   format.Aspect
		what string
	}{
		{m.DType != matrix.F32, format.Types, "values become f32"},
		{m.Dims != nil && len(m.Dims) != 2, format.Shapes, "the shape of the tensor"},
		{m.LoD != nil, format.Sequences, "sequences"},
	} {
		if !l.is {
			continue
		}
		if err := o.Lose(l.of, m.Name, "%s", l.what); err != nil {
			return nil, err
		}
	}
	if err := format.LoseFiles(&o); err != nil {
		return nil, err
	}
	t := format.NewTarget(&m, format.Slab{DType: matrix.F32, Off: headLen})
	t.Cast = true
	end, err := format.PlaceSlab(&m, matrix.F32, headLen)
	if err != nil {
		return nil, err
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(m.Rows))
	head = binary.LittleEndian.AppendUint32(head, uint32(m.Cols))
	return format.NewSlabWriter(ctx, b, p, o, format.SlabFile{
		Size: end, Known: []format.Span{{Bytes: head}}, Slabs: []format.Target{t},
	})
}

// Explain implements format.Codec.
func (vec) Explain(ctx context.Context, b blob.Bucket, p string, d *dump.Printer) error {
	data, err := blob.ReadAll(ctx, b, p, 1<<20)
	if err != nil {
		return err
	}
	if len(data) < headLen {
		return format.Corrupt("vec", p, int64(len(data)), "%d bytes, want a header of %d", len(data), headLen)
	}
	d.Field(0, data[:4], "magic")
	d.Field(4, data[4:8], "%d rows", binary.LittleEndian.Uint32(data[4:]))
	d.Field(8, data[8:12], "%d columns", binary.LittleEndian.Uint32(data[8:]))
	d.Field(headLen, bytes.TrimSpace(data[headLen:]), "values")
	return nil
}

type reader struct {
	object blob.Object
	m      matrix.Meta
	slab   format.Slab
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Blocks implements format.Reader.
func (r *reader) Blocks(ctx context.Context, _ string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return r.slab.Blocks(ctx, r.object, want)
}

// Notes implements format.Reader.
func (r *reader) Notes() []string { return nil }

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *reader) Close() error { return r.object.Close() }
