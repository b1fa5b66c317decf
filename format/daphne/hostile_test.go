package daphne_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
)

// le are little-endian numbers one behind the other: bytes, u16, u32, u64, and text.
func le(fields ...any) (b []byte) {
	for _, f := range fields {
		switch v := f.(type) {
		case int:
			b = append(b, byte(v))
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, v)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

const (
	top32 = uint32(math.MaxUint32)
	top64 = uint64(math.MaxUint64)
)

// head is the header of a matrix; at is the position and size of a block.
func head(data int, rows, cols uint64, code int) []byte { return le(1, data, rows, cols, code) }

func at(row, col uint64, rows, cols uint32) []byte { return le(row, col, rows, cols) }

// old is a sparse i8 matrix of 2 x 3 as release 0.1 writes it.
func old(rest ...any) []byte {
	return le(1, 2, "      ", uint64(2), uint64(3), 3, uint64(0), uint64(0), uint32(2), uint32(3), 2, "   ", 3, le(rest...))
}

// TestOldFull reads a sparse matrix of release 0.1 that has every cell.
func TestOldFull(t *testing.T) {
	data := old(uint64(6))
	for range 2 {
		data = append(data, le(uint64(3), uint64(0), 5, uint64(1), 6, uint64(2), 7)...)
	}
	if cells, err := readAll(t, data); err != nil || len(cells) != 6 || cells[[2]int64{1, 2}] != "7" {
		t.Errorf("%v, %v", cells, err)
	}
}

// hostile are files that must not be read, each for one reason.
func hostile() map[string][]byte {
	two := head(1, 2, 2, 10)
	manyEmpty := head(1, 1<<32-1, 1, 1)
	for range 20000 {
		manyEmpty = append(manyEmpty, le(at(0, 0, top32, 1), 0)...)
	}
	csr := func(rest ...any) []byte { return le(head(2, 2, 3, 10), at(0, 0, 2, 3), 2, 10, le(rest...)) }
	arrays := func(rest ...any) []byte { return le(head(2, 2, 3, 3), at(0, 0, 2, 3), 2, 3, uint64(2), le(rest...)) }
	return map[string][]byte{
		"nothing":                   {},
		"one byte":                  {1},
		"version 0":                 le(0, two[1:], at(0, 0, 2, 2), 0),
		"version 2":                 le(2, two[1:], at(0, 0, 2, 2), 0),
		"data type 0":               le(1, 0, two[2:], at(0, 0, 2, 2), 0),
		"data type 4, a scalar":     le(1, 4, two[2:], uint64(0)),
		"value type 255":            le(head(1, 2, 2, 255), at(0, 0, 2, 2), 0),
		"block of value type 0":     le(two, at(0, 0, 2, 2), 1, 0, "...."),
		"block type 4":              le(two, at(0, 0, 2, 2), 4, 10),
		"wide block":                le(two, at(0, 0, 2, 2), 129, 10, make([]byte, 62)),
		"2^64-1 rows":               le(head(1, top64, 1, 1), at(0, 0, top32, 1), 0),
		"2^63 columns":              le(head(1, 1, 1<<63, 1), at(0, 0, 1, top32), 0),
		"2^32-1 x 2^32-1 dense":     le(head(1, 1<<32-1, 1<<32-1, 10), at(0, 0, top32, top32), 1, 10, make([]byte, 64)),
		"2^32-1 rows of CSR":        le(head(2, 1<<32-1, 1, 10), at(0, 0, top32, 1), 2, 10, uint64(0), make([]byte, 64)),
		"2^64-1 cells of CSR":       csr(top64, make([]byte, 64)),
		"2^32-1 cells of COO":       le(head(1, 1<<32-1, 9, 10), at(0, 0, top32, 9), 3, 10, top32, make([]byte, 64)),
		"block of no rows":          le(two, at(0, 0, 0, 2), 0, at(0, 0, 2, 2), 0),
		"block beyond 2^64":         le(two, at(top64, 0, 2, 2), 0),
		"block at 2^63-1":           le(two, at(math.MaxInt64, 0, 2, 2), 0),
		"overlap":                   le(two, at(0, 0, 2, 2), 0, at(1, 0, 1, 2), 0),
		"overlap and gap":           le(head(1, 2, 4, 1), at(0, 0, 2, 2), 0, at(0, 3, 2, 2), 0),
		"the same block twice":      le(two, at(0, 0, 2, 2), 0, at(0, 0, 2, 2), 0),
		"20000 times the same":      manyEmpty,
		"gap":                       le(two, at(0, 0, 1, 2), 0),
		"header alone":              two,
		"two blocks for no cells":   le(head(1, 0, 2, 10), at(0, 0, 0, 2), 0, at(0, 0, 0, 2), 0),
		"half a block head":         le(two, at(0, 0, 2, 2)),
		"CSR with fewer cells":      csr(uint64(2), uint32(1), uint32(0), "........", uint32(0)),
		"CSR with more cells":       csr(uint64(1), uint32(1), uint32(0), "........", uint32(1), uint32(0), "........"),
		"CSR row of 2^32-1":         csr(uint64(1), top32, uint32(0), "........", uint32(0)),
		"CSR column 3 of 3":         csr(uint64(1), uint32(1), uint32(3), "........", uint32(0)),
		"CSR column twice":          csr(uint64(2), uint32(2), uint32(1), "........", uint32(1), "........", uint32(0)),
		"CSR column twice, apart":   csr(uint64(3), uint32(3), uint32(1), "........", uint32(0), "........", uint32(1), "........", uint32(0)),
		"CSR bytes behind":          csr(uint64(0), uint32(0), uint32(0), 7),
		"COO row 2 of 2":            le(two, at(0, 0, 2, 2), 3, 10, uint32(1), uint32(2), uint32(0), "........"),
		"COO column 2 of 2":         le(two, at(0, 0, 2, 2), 3, 10, uint32(1), uint32(0), uint32(2), "........"),
		"COO cell twice, apart":     le(head(1, 2, 2, 1), at(0, 0, 2, 2), 3, 1, uint32(3), uint64(1<<32), 5, uint64(0), 6, uint64(1<<32), 7),
		"COO of one column, row 2":  le(head(1, 2, 1, 1), at(0, 0, 2, 1), 3, 1, uint32(1), uint32(2), 5),
		"COO of one column, twice":  le(head(1, 2, 1, 1), at(0, 0, 2, 1), 3, 1, uint32(2), uint32(1), 5, uint32(1), 5),
		"COO more cells than there": le(head(1, 2, 1, 1), at(0, 0, 2, 1), 3, 1, uint32(3), "..............."),
		"values of another type":    le(head(1, 1, 2, 1), at(0, 0, 1, 2), 1, 10, make([]byte, 7), 0x3f, make([]byte, 8)),
		"arrays: first offset 1":    arrays(uint64(1), uint64(1), uint64(2), uint64(0), uint64(1), 5, 6),
		"arrays: last offset 3":     arrays(uint64(0), uint64(1), uint64(3), uint64(0), uint64(1), 5, 6),
		"arrays: offsets descend":   arrays(uint64(0), uint64(3), uint64(2), uint64(0), uint64(1), 5, 6),
		"arrays: offset of 2^64-1":  arrays(uint64(0), top64, uint64(2), uint64(0), uint64(1), 5, 6),
		"arrays: column 3 of 3":     arrays(uint64(0), uint64(1), uint64(2), uint64(3), uint64(1), 5, 6),
		"arrays: column 2^64-1":     arrays(uint64(0), uint64(1), uint64(2), top64, uint64(1), 5, 6),
		"arrays: column twice":      arrays(uint64(0), uint64(2), uint64(2), uint64(1), uint64(1), 5, 6),
		"0.1: row of 2^64-1":        old(uint64(1), top64, uint64(0), 5, uint64(0)),
		"0.1: rows of fewer cells":  old(uint64(2), uint64(1), uint64(0), 5, uint64(0), uint64(0), 5),
		"0.1: column 3 of 3":        old(uint64(1), uint64(1), uint64(3), 5, uint64(0)),
		"0.1: 2^64-1 cells":         old(top64, uint64(0), uint64(0)),
		"frame of 2^64-1 columns":   le(1, 3, uint64(2), top64, make([]byte, 64)),
		"frame of 2^40 columns":     le(1, 3, uint64(2), uint64(1<<40), make([]byte, 64)),
		"frame: label beyond":       le(1, 3, uint64(1), uint64(1), 1, uint16(65535), "abc", at(0, 0, 1, 1), 1, 1, 5),
		"frame: label not UTF-8":    le(1, 3, uint64(1), uint64(1), 10, uint16(2), "\xff\xfe", at(0, 0, 1, 1), 1, 10, "........"),
		"frame: 2^62 rows":          le(1, 3, uint64(1<<62), uint64(1), 7, uint16(0), make([]byte, 32)),
		"frame: block of two types": le(1, 3, uint64(1), uint64(2), 1, 10, uint32(0), at(0, 0, 1, 2), 1, 10, make([]byte, 6), 0xe0, 0x3f, "........"),
	}
}

// spent is what f allocates, in bytes.
func spent(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestHostile(t *testing.T) {
	for name, data := range hostile() {
		for _, dialect := range []string{"", "document", "daphne", "daphne-0.1", "hybrid"} {
			var err error
			bytes := spent(func() {
				b := &blob.Mem{}
				put(t, b, data, "")
				var r format.Reader
				set := map[string]string{}
				if dialect != "" {
					set["dialect"] = dialect
				}
				if r, err = daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{Set: set}); err != nil {
					return
				}
				defer r.Close()
				for _, err = range r.Blocks(t.Context(), "x", r.Matrices()[0].Rect()) {
					if err != nil {
						return
					}
				}
			})
			if err == nil {
				t.Errorf("%s: read, %s", name, dialect)
			} else if !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
				t.Errorf("%s: %v is neither damage nor a version", name, err)
			}
			if limit := int64(1<<20 + 200*len(data)); bytes > limit {
				t.Errorf("%s, %s: %d bytes allocated, want at most %d", name, dialect, bytes, limit)
			}
		}
	}
}

// TestNoLayout wants an error to say of a file that fits no layout what each of the likely ones found, at the byte of the first.
func TestNoLayout(t *testing.T) {
	_, err := open(t, le(head(1, 2, 2, 10), at(0, 0, 2, 2), 4, 10), nil)
	var where *format.Error
	if !errors.As(err, &where) || where.Off != 43 || !strings.Contains(err.Error(), "(layout document; as daphne: ") {
		t.Errorf("%v, want byte 43 and both layouts", err)
	}
}

// TestFrameLength wants the error of a frame in DAPHNE's own layout to say how many bytes its rows have and should have.
func TestFrameLength(t *testing.T) {
	blk := matrix.Block{At: matrix.At(0, 2, 0, 3), Data: &matrix.Dense[float64]{Val: []float64{-1, 0.5, 1, 7, 2, 255}}}
	data, err := save(t.Context(), &blob.Mem{}, frameMeta(), format.Options{Set: map[string]string{"dialect": "daphne"}}, []matrix.Block{blk})
	if err != nil {
		t.Fatal(err)
	}
	for n, text := range map[int][]byte{33: data[:len(data)-1], 35: append(data[:len(data):len(data)], 0)} {
		want := fmt.Sprintf("%d bytes of rows at (0,0), want 2 rows of 17", n)
		for _, dialect := range []string{"", "daphne"} {
			if _, err := open(t, text, map[string]string{"dialect": dialect}); !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), want) {
				t.Errorf("dialect %q: %v, want %s", dialect, err, want)
			}
		}
	}
}

// TestVast are small files of vast matrices, which are right: reading and writing them takes little memory.
func TestVast(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty":           le(head(2, 1<<32-1, 1<<32-1, 10), at(0, 0, top32, top32), 0),
		"dense and empty": le(head(1, 1<<32-1, 1<<32-1, 10), at(0, 0, top32, top32), 0),
		"one cell":        le(head(2, 1<<32-1, 1<<32-1, 10), at(0, 0, top32, top32), 3, 10, uint32(1), uint32(7), uint32(9), "........"),
		"dense, one cell": le(head(1, 1<<32-1, 1<<32-1, 10), at(0, 0, top32, top32), 3, 10, uint32(1), uint32(7), uint32(9), "........"),
	} {
		bytes := spent(func() {
			b := &blob.Mem{}
			put(t, b, data, "")
			r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for _, set := range []map[string]string{{}, {"blocks": "as-is"}, {"narrow": "true"}, {"meta": "true"}} {
				if err := format.Convert(t.Context(), r, daphne.Codec, b, "y.dbdf", format.Options{Set: set, Over: blob.Anything}, nil, nil); err != nil {
					t.Errorf("%s, %v: %v", name, set, err)
				}
			}
			if err := format.Convert(t.Context(), r, daphne.Codec, b, "y.dbdf",
				format.Options{Set: map[string]string{"block-rows": "1", "block-cols": "1"}, Over: blob.Anything}, nil, nil); !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s: 2^64 blocks: %v, want ErrLimit", name, err)
			}
		})
		if bytes > 16<<20 {
			t.Errorf("%s: %d bytes allocated", name, bytes)
		}
	}
}

// TestManyRows writes very many rows with few cells in DAPHNE's own layout: its offsets take room in the file, not in memory.
func TestManyRows(t *testing.T) {
	const rows = 16 << 20
	m := matrix.Meta{Name: "x", Rows: rows, Cols: 3, DType: matrix.U8, Layout: matrix.RowSparse}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.COO[uint8]{Row: []int64{rows - 1, 5}, Col: []int64{2, 1}, Val: []uint8{5, 6}}}
	b := blob.NewDir(t.TempDir())
	o := format.Options{Set: map[string]string{"dialect": "daphne"}}
	bytes := spent(func() {
		w, err := daphne.Codec.Create(t.Context(), b, "x.dbdf", []matrix.Meta{m}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort(t.Context())
		p, err := w.Put(t.Context(), "x", blk)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context(), []format.Part{p}); err != nil {
			t.Fatal(err)
		}
	})
	if bytes > 8*rows {
		t.Errorf("%d bytes allocated for 2 cells", bytes)
	}
	r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cells, err := stored(t.Context(), r, matrix.At(rows-2, rows, 0, 3))
	if err != nil || len(cells) != 1 || cells[[2]int64{rows - 1, 2}] != "5" {
		t.Errorf("%v, %v", cells, err)
	}
}

// TestEveryBitOfGoldens turns every bit of the golden files. What is still read has the same size and number of cells.
func TestEveryBitOfGoldens(t *testing.T) {
	for _, g := range goldens(t) {
		if !strings.HasSuffix(g.file, ".dbdf") || g.Expect != "" || len(g.expected()) == 0 {
			continue
		}
		want, err := readAll(t, g.data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 * len(g.data) {
			bad := bytes.Clone(g.data)
			bad[i/8] ^= 1 << (i % 8)
			got, err := readAll(t, bad)
			if err == nil && len(got) != len(want) {
				t.Errorf("%s: bit %d of byte %d: %d cells, want an error or %d", g.file, i%8, i/8, len(got), len(want))
			}
			if err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) {
				t.Errorf("%s: bit %d of byte %d: %v is neither damage nor a version", g.file, i%8, i/8, err)
			}
		}
	}
}
