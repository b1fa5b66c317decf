package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/brotli"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

// withFooter is a file of pages and a footer.
func withFooter(t fataler, pages []byte, foot any) []byte {
	t.Helper()
	text, ok := foot.([]byte)
	if !ok {
		var err error
		if text, err = thrift.Marshal(&thrift.CompactProtocol{}, foot); err != nil {
			t.Fatal(err)
		}
	}
	data := append(append([]byte(magic), pages...), text...)
	return append(binary.LittleEndian.AppendUint32(data, uint32(len(text))), magic...)
}

// oneColumn is a footer of one row group with one chunk of the given length.
func oneColumn(typ pf.Type, rows int64, size int, codec pf.CompressionCodec) *pf.FileMetaData {
	return &pf.FileMetaData{Version: 1, NumRows: rows,
		Schema: []pf.SchemaElement{{Name: "s", NumChildren: thrift.New[int32](1)},
			{Name: "x", Type: thrift.New(typ), RepetitionType: thrift.New(pf.Required)}},
		RowGroups: []pf.RowGroup{{NumRows: rows, Columns: []pf.ColumnChunk{{MetaData: pf.ColumnMetaData{Type: typ, Encoding: []pf.Encoding{pf.Plain},
			PathInSchema: []string{"x"}, Codec: codec, NumValues: rows, TotalCompressedSize: int64(size), DataPageOffset: 4}}}}}}
}

func pageOf(t fataler, h pf.PageHeader, body []byte) []byte {
	t.Helper()
	head, err := thrift.Marshal(&thrift.CompactProtocol{}, &h)
	if err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

func dataPage(values, size, packed int, e pf.Encoding) pf.PageHeader {
	return pf.PageHeader{Type: pf.DataPage, UncompressedPageSize: int32(size), CompressedPageSize: int32(packed),
		DataPageHeader: thrift.New(pf.DataPageHeader{NumValues: int32(values), Encoding: e, DefinitionLevelEncoding: pf.RLE, RepetitionLevelEncoding: pf.RLE})}
}

// TestHostile are files that claim much more than they hold. None of them makes the reader allocate much.
func TestHostile(t *testing.T) {
	runs := []byte{5, 0, 0, 0, 0xfe, 0xff, 0xff, 0x7f, 1} // a run of 2^27 truth values
	bomb, err := (&zstd.Codec{}).Encode(nil, make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	small, err := (&brotli.Codec{}).Encode(nil, make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	list := func(head string) []byte { return append([]byte(head), 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07) }
	for what, c := range map[string]struct {
		data []byte
		want string
		is   error
	}{
		"schema list":    {withFooter(t, nil, list("\x15\x02\x19")), "ends within a struct", format.ErrCorrupt},
		"row group list": {withFooter(t, nil, list("\x15\x02\x49")), "ends within a struct", format.ErrCorrupt},
		"deep structs":   {withFooter(t, nil, bytes.Repeat([]byte{0x1c}, 1<<16)), "levels", format.ErrCorrupt},
		"long text":      {withFooter(t, nil, []byte("\x68\xff\xff\xff\xff\x07")), "ends within a struct", format.ErrCorrupt},
		"chunk outside":  {withFooter(t, nil, oneColumn(pf.Int64, 1, 1<<30, 0)), "want it before byte", format.ErrCorrupt},
		"rows of groups": {withFooter(t, nil, &pf.FileMetaData{NumRows: 1 << 62, Schema: []pf.SchemaElement{{Name: "s"}}, RowGroups: []pf.RowGroup{}}),
			"0 rows in the row groups, want", format.ErrCorrupt},
		"many rows": {func() []byte {
			p := pageOf(t, dataPage(1, 8, 8, pf.Plain), make([]byte, 8))
			return withFooter(t, p, oneColumn(pf.Int64, 1<<60, len(p), 0))
		}(), "1 values in the pages, want 1152921504606846976", format.ErrCorrupt},
		"page beyond its chunk": {func() []byte {
			p := pageOf(t, dataPage(1, 1<<30, 1<<30, pf.Plain), nil)
			return withFooter(t, p, oneColumn(pf.Int64, 1, len(p), 0))
		}(), "page of 1073741824 bytes, want at most 0", format.ErrCorrupt},
		"many values": {func() []byte {
			p := pageOf(t, dataPage(1<<30, 9, 9, pf.RLE), runs)
			return withFooter(t, p, oneColumn(pf.Boolean, 1<<30, len(p), 0))
		}(), "want at most 16777216", format.ErrLimit},
		"plain without bytes": {func() []byte {
			p := pageOf(t, dataPage(1<<24, 8, 8, pf.Plain), make([]byte, 8))
			return withFooter(t, p, oneColumn(pf.Int64, 1<<24, len(p), 0))
		}(), "16777216 values of i64 in 8 bytes", format.ErrCorrupt},
		"zstd bomb": {func() []byte {
			p := pageOf(t, dataPage(1, 8, len(bomb), pf.Plain), bomb)
			return withFooter(t, p, oneColumn(pf.Int64, 1, len(p), pf.Zstd))
		}(), "zstd: ", format.ErrCorrupt},
		"snappy bomb": {func() []byte {
			p := pageOf(t, dataPage(1, 8, 6, pf.Plain), []byte("\xff\xff\xff\xff\x0f\x00"))
			return withFooter(t, p, oneColumn(pf.Int64, 1, len(p), pf.Snappy))
		}(), "snappy of 4294967295 bytes, want 8", format.ErrCorrupt},
		"lz4 bomb": {func() []byte {
			p := pageOf(t, dataPage(1<<24, 1<<27, 3, pf.Plain), []byte{0, 0, 0})
			return withFooter(t, p, oneColumn(pf.Int64, 1<<24, len(p), pf.Lz4Raw))
		}(), "134217728 bytes in 3, want at most 1020", format.ErrCorrupt},
		"snappy of little": {func() []byte {
			p := pageOf(t, dataPage(1<<24, 1<<27, 5, pf.Plain), []byte{0x80, 0x80, 0x80, 0x40, 0})
			return withFooter(t, p, oneColumn(pf.Int64, 1<<24, len(p), pf.Snappy))
		}(), "134217728 bytes in 5, want at most 132", format.ErrCorrupt},
		"brotli bomb": {func() []byte {
			p := pageOf(t, dataPage(1, 8, len(small), pf.Plain), small)
			return withFooter(t, p, oneColumn(pf.Int64, 1, len(p), pf.Brotli))
		}(), "BROTLI: a page of 9 bytes, want 8", format.ErrCorrupt},
		"schema without its columns": {withFooter(t, nil, &pf.FileMetaData{Schema: []pf.SchemaElement{{Name: "s", NumChildren: thrift.New[int32](3)}},
			RowGroups: []pf.RowGroup{}}), "column 0 of 3: the schema ends within it", format.ErrCorrupt},
		"schema of many columns": {withFooter(t, nil, &pf.FileMetaData{Schema: []pf.SchemaElement{{Name: "s", NumChildren: thrift.New[int32](1)},
			{Name: "x", NumChildren: thrift.New[int32](1 << 30)}, {Name: "y", Type: thrift.New(pf.Int64)}}, RowGroups: []pf.RowGroup{}}),
			"the schema ends within it", format.ErrCorrupt},
		"differences of floats": {func() []byte {
			p := pageOf(t, dataPage(1, 5, 5, pf.DeltaBinaryPacked), []byte{32, 1, 1, 0, 0})
			return withFooter(t, p, oneColumn(pf.Double, 1, len(p), 0))
		}(), "values of f64 in DELTA_BINARY_PACKED", format.ErrVersion},
		"large blocks of differences": {func() []byte {
			p := pageOf(t, dataPage(1, 9, 9, pf.DeltaBinaryPacked), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 0})
			return withFooter(t, p, oneColumn(pf.Int64, 1, len(p), 0))
		}(), "blocks of 549755813887 differences", format.ErrCorrupt},
		"no dictionary": {func() []byte {
			p := pageOf(t, dataPage(1, 3, 3, pf.RLEDictionary), []byte{1, 2, 0})
			return withFooter(t, p, oneColumn(pf.Int64, 1, len(p), 0))
		}(), "needs a dictionary", format.ErrCorrupt},
		"nothing behind": {func() []byte {
			p := pageOf(t, dataPage(2, 16, 16, pf.Plain), make([]byte, 16))
			return withFooter(t, p, oneColumn(pf.Int64, 3, len(p), 0))
		}(), "2 values in the pages, want 3", format.ErrCorrupt},
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b := bucketOf(t, c.data)
			r, err := Codec.Open(context.Background(), b, "a.parquet", format.Options{})
			if err == nil {
				m := r.Matrices()[0]
				for _, err = range r.Blocks(context.Background(), "a", matrix.At(0, m.Rows, 0, m.Cols)) {
					if err != nil {
						break
					}
				}
				r.Close()
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
				t.Errorf("%v, want %q", err, c.want)
			}
			// A block is allocated before its pages are seen, and a page of 2^24 values with it.
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes allocated", used)
			}
		})
	}
}

// TestFlips turns single bits of a file with every kind of page: an error, or no change of structure, and no panic.
func TestFlips(t *testing.T) {
	rows, _ := makeRows(40, true)
	for _, version := range []int{1, 2} {
		for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Gzip), parquet.Compression(&parquet.Zstd)} {
			data := library(t, rows, parquet.DataPageVersion(version), codec, parquet.PageBufferSize(100), parquet.MaxRowsPerRowGroup(17))
			rnd := rand.New(rand.NewPCG(1, 2))
			for range 1000 {
				bad := slices.Clone(data)
				for range 1 + rnd.IntN(2) {
					bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
				}
				_, _, err := load(bad, map[string]string{"nulls": "0"}, nil)
				if err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) && !errors.Is(err, format.ErrLimit) {
					t.Fatalf("%v: wraps no error of package format", err)
				}
			}
		}
	}
}

// TestHybrid are runs written by hand.
func TestHybrid(t *testing.T) {
	for _, c := range []struct {
		src      []byte
		width, n int
		want     []uint32
	}{
		{nil, 3, 0, []uint32{}},
		{[]byte{6, 5}, 3, 3, []uint32{5, 5, 5}},
		{[]byte{3, 0x88, 0xc6, 0xfa}, 3, 8, []uint32{0, 1, 2, 3, 4, 5, 6, 7}},
		{[]byte{3, 0x88, 0xc6, 0xfa}, 3, 5, []uint32{0, 1, 2, 3, 4}},
		{[]byte{3, 0x05}, 1, 3, []uint32{1, 0, 1}},
		{[]byte{2, 1, 0, 2, 2, 0}, 9, 2, []uint32{1, 2}},
		{[]byte{2, 1, 0, 2, 2}, 9, 2, nil},
		{[]byte{3, 0x88, 0xc6}, 3, 8, nil},
		{[]byte{2, 1}, 1, 2, nil},
		{[]byte{1}, 1, 2, nil},
		{[]byte{2, 1}, 33, 1, nil},
		{[]byte{4, 0x39, 0x30}, 16, 2, []uint32{12345, 12345}},
		{[]byte{200, 1}, 0, 5, []uint32{0, 0, 0, 0, 0}},
		{[]byte{3}, 0, 8, make([]uint32, 8)},
	} {
		got := make([]uint32, c.n)
		err := hybrid(got, c.src, c.width)
		if len(c.want) < c.n {
			if err == nil {
				t.Errorf("% x: %v, want an error", c.src, got)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("% x: %v, %v, want %v", c.src, got, err, c.want)
		}
	}
}

// FuzzOpen reads, sniffs and explains any bytes; what is read without an error is written and read again.
func FuzzOpen(f *testing.F) {
	rows, _ := makeRows(9, true)
	for _, version := range []int{1, 2} {
		f.Add(library(f, rows, parquet.DataPageVersion(version), parquet.PageBufferSize(100), parquet.MaxRowsPerRowGroup(4)))
		f.Add(library(f, rows[:2], parquet.DataPageVersion(version), parquet.Compression(&parquet.Zstd)))
	}
	f.Add([]byte("PAR1\x15\x02\x00\x03\x00\x00\x00PAR1"))
	for _, name := range []string{"times.parquet", "text_brotli.parquet", "nulls_lz4.parquet"} {
		f.Add(stored(f, name))
	}
	set := map[string]string{"nulls": "0", "other": "skip"}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), bucketOf(t, data)
		var out bytes.Buffer
		_ = Codec.Explain(ctx, b, "a.parquet", dump.New(&out))
		if _, err := Codec.Sniff(ctx, b, "a.parquet"); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "a.parquet", format.Options{Set: set})
		if err != nil {
			return
		}
		defer r.Close()
		if m := r.Matrices()[0]; m.Rows > 1<<12 || m.Cols > 1<<12 {
			return
		}
		m, cells, err := load(data, set, nil)
		if err != nil {
			return
		}
		again := bucketOf(t, nil)
		if err := format.Convert(ctx, r, Codec, again, "b.parquet", format.Options{}, nil, nil); err != nil {
			if errors.Is(err, format.ErrLossy) {
				return
			}
			t.Fatal(err)
		}
		s, err := Codec.Open(ctx, again, "b.parquet", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n := s.Matrices()[0]; n.Rows != m.Rows || n.Cols != m.Cols || n.DType != m.DType || !slices.Equal(n.ColTypes, m.ColTypes) ||
			!slices.Equal(n.ColOrigins, m.ColOrigins) {
			t.Fatalf("read %+v, then %+v", m, n)
		}
		var same []string
		for blk, err := range s.Blocks(ctx, "b", m.Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			same = append(same, blk.At.String())
		}
		if len(cells) > 0 && len(same) == 0 {
			t.Fatal("nothing left")
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	m := matrix.Meta{Name: "a", Rows: 64 << 10, Cols: 64, DType: matrix.F64}
	blk := matrix.NewDense(m.DType, m.Rect())
	b.SetBytes(m.Rows * m.Cols * 8)
	for b.Loop() {
		if _, err := save(m, blk, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	m := matrix.Meta{Name: "a", Rows: 64 << 10, Cols: 64, DType: matrix.F64}
	data, err := save(m, matrix.NewDense(m.DType, m.Rect()), nil)
	if err != nil {
		b.Fatal(err)
	}
	r, err := Codec.Open(context.Background(), bucketOf(b, data), "a.parquet", format.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.SetBytes(m.Rows * m.Cols * 8)
	for b.Loop() {
		for _, err := range r.Blocks(context.Background(), "a", m.Rect()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
