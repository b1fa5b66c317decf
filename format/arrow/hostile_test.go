package arrow

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// frame is a message with its body.
func frame(kind uint8, head []val, body []byte) []byte {
	meta := buildFlat([]val{{slot: 0, v: int16(4)}, {slot: 1, v: kind}, {slot: 2, v: head}, {slot: 3, v: int64(len(body))}})
	for len(meta)%8 != 0 {
		meta = append(meta, 0)
	}
	out := binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), uint32(len(meta)))
	return append(append(out, meta...), body...)
}

// stream is a schema of the fields, a batch, and the end.
func stream(order int16, fields [][]val, batch []val, body []byte) []byte {
	out := frame(kindSchema, []val{{slot: 0, v: order}, {slot: 1, v: fields}}, nil)
	return append(append(out, frame(kindBatch, batch, body)...), endMark...)
}

// batchOf has one column with one buffer of values.
func batchOf(rows, nodeRows, nulls, off, size int64, more ...val) []val {
	return append([]val{{slot: 0, v: rows}, {slot: 1, each: 2, v: []int64{nodeRows, nulls}}, {slot: 2, each: 2, v: []int64{0, 0, off, size}}}, more...)
}

func packed(codec uint8) val { return val{slot: 3, v: []val{{slot: 0, v: codec}}} }

// TestHostile are streams that claim more than they hold. None of them makes the reader allocate much.
func TestHostile(t *testing.T) {
	one := [][]val{newNumber("x", matrix.F64)}
	eight := make([]byte, 8)
	list := [][]val{newField("x", typeFixedList, []val{{slot: 0, v: int32(1<<31 - 1)}}, newNumber("item", matrix.F64))}
	none := [][]val{newField("x", typeFixedList, []val{{slot: 0, v: int32(-1)}}, newNumber("item", matrix.F64))}
	deep := newNumber("x", matrix.F64)
	for range 100 {
		deep = newField("x", 12, nil, deep)
	}
	size := func(n int64) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, uint64(n)), 1, 2, 3, 4, 5, 6, 7, 8)
	}
	for what, c := range map[string]struct {
		data []byte
		want string
		is   error
	}{
		"long message":     {[]byte("\xff\xff\xff\xff\xff\xff\xff\x7f....."), "message of 2147483647 bytes, want at most 5", format.ErrCorrupt},
		"negative message": {[]byte("\xff\xff\xff\xff\xff\xff\xff\xff....."), "message of -1 bytes", format.ErrCorrupt},
		"batch first":      {frame(kindBatch, batchOf(1, 1, 0, 0, 8), eight), "want a schema first", format.ErrCorrupt},
		"other bytes":      {[]byte("\x10\x00\x00\x00 nothing of the kind at all"), `byte 0: "\x10\x00\x00\x00 n" at the begin`, format.ErrCorrupt},
		"two schemas":      {append(frame(kindSchema, []val{{slot: 1, v: one}}, nil), frame(kindSchema, []val{{slot: 1, v: one}}, nil)...), "a schema, want a record batch", format.ErrCorrupt},
		"tensor":           {frame(4, []val{}, nil), "a tensor, want a table", format.ErrVersion},
		"no head":          {frame(kindSchema, nil, nil), "", nil},
		"many rows":        {stream(0, one, batchOf(1<<60, 1<<60, 0, 0, 8), eight), "column 0 (\"x\"): 1152921504606846976 rows", format.ErrLimit},
		"more rows":        {stream(0, one, batchOf(2, 2, 0, 0, 8), eight), "values in a buffer of 8 bytes, want 16", format.ErrCorrupt},
		"fewer rows":       {stream(0, one, batchOf(1, 2, 0, 0, 8), eight), "2 values, want 1", format.ErrCorrupt},
		"negative rows":    {stream(0, one, batchOf(-1, -1, 0, 0, 8), eight), "record batch of -1 rows", format.ErrCorrupt},
		"nulls":            {stream(0, one, batchOf(1, 1, 2, 0, 8), eight), "2 nulls among 1 values", format.ErrCorrupt},
		"no bitmap":        {stream(0, one, batchOf(1, 1, 1, 0, 8), eight), "validity in a buffer of 0 bytes, want 1", format.ErrCorrupt},
		"outside":          {stream(0, one, batchOf(1, 1, 0, 8, 8), eight), "buffer 1 of 8 bytes at byte 8 of a body of 8", format.ErrCorrupt},
		"negative place":   {stream(0, one, batchOf(1, 1, 0, -8, 8), eight), "buffer 1 of 8 bytes at byte -8", format.ErrCorrupt},
		"negative size":    {stream(0, one, batchOf(1, 1, 0, 0, -8), eight), "buffer 1 of -8 bytes", format.ErrCorrupt},
		"gap":              {stream(0, one, batchOf(1, 1, 0, 64, 8), make([]byte, 72)), "buffer 1 at byte 64 of the body", format.ErrCorrupt},
		"rest":             {stream(0, one, batchOf(1, 1, 0, 0, 8), make([]byte, 80)), "body of 80 bytes, whose buffers end at byte 8", format.ErrCorrupt},
		"no nodes":         {stream(0, one, []val{{slot: 0, v: int64(1)}}, nil), "0 nodes and 0 buffers, want 1 and 2", format.ErrCorrupt},
		"byte order":       {stream(2, one, batchOf(1, 1, 0, 0, 8), eight), "byte order 2", format.ErrCorrupt},
		"long list":        {stream(0, list, batchOf(1, 1, 0, 0, 8), eight), "1 nodes and 2 buffers, want 2 and 3", format.ErrCorrupt},
		"long lists":       {stream(0, append(list, one...), batchOf(1, 1, 0, 0, 8), eight), "columns of numbers, want at most 65535", format.ErrLimit},
		"negative list":    {stream(0, none, batchOf(1, 1, 0, 0, 8), eight), "lists of -1 numbers", format.ErrCorrupt},
		"deep types":       {stream(0, [][]val{deep}, nil, nil), "types of more than 64 levels", format.ErrLimit},
		"codec":            {stream(0, one, batchOf(1, 1, 0, 0, 8, packed(7)), eight), "compression 7", format.ErrVersion},
		"lz4 of nothing":   {stream(0, one, batchOf(1, 1, 0, 0, 7, packed(0)), eight), "compressed buffer of 7 bytes", format.ErrCorrupt},
		"lz4 claims":       {stream(0, one, batchOf(1<<20, 1<<20, 0, 0, 16, packed(0)), size(8<<20)), "lz4: buffer of 8388608 bytes in 8, want at most 2040", format.ErrCorrupt},
		"zstd claims":      {stream(0, one, batchOf(1<<20, 1<<20, 0, 0, 16, packed(1)), size(8<<20)), "zstd: buffer of 8388608 bytes in 8, want at most", format.ErrCorrupt},
		"zstd too long":    {stream(0, one, batchOf(1<<40, 1<<40, 0, 0, 16, packed(1)), size(8<<40)), "want at most 1073741824", format.ErrLimit},
		"zstd other":       {stream(0, one, batchOf(1, 1, 0, 0, 16, packed(1)), size(8)), "zstd: ", format.ErrCorrupt},
		"lz4 other":        {stream(0, one, batchOf(1, 1, 0, 0, 16, packed(0)), size(8)), "lz4: no frame", format.ErrCorrupt},
		"negative packed":  {stream(0, one, batchOf(1, 1, 0, 0, 16, packed(0)), size(-2)), "lz4: buffer of -2 bytes, want 8", format.ErrCorrupt},
		"short unpacked":   {stream(0, one, batchOf(3, 3, 0, 0, 16, packed(0)), size(-1)), "none: buffer of 8 bytes, want 24", format.ErrCorrupt},
		"feather 1":        {[]byte("FEA1............"), "a Feather file of version 1, want version 2", format.ErrVersion},
		"short file":       {[]byte("ARROW1"), "6 bytes, want 18 at least", format.ErrCorrupt},
		"end of file":      {[]byte("ARROW1............"), `"......" at the end, want "ARROW1"`, format.ErrCorrupt},
		"long footer":      {[]byte("ARROW1\x00\x00\xff\xff\xff\x7fARROW1"), "footer of 2147483647 bytes in a file of 18", format.ErrCorrupt},
		"behind the end":   {append(stream(0, one, batchOf(1, 1, 0, 0, 8), eight), make([]byte, 64)...), "64 bytes behind the end of the stream", format.ErrCorrupt},
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, cells, err := load(c.data, nil, nil)
			runtime.ReadMemStats(&after)
			if c.is == nil {
				c.is, c.want = format.ErrCorrupt, ""
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
				t.Errorf("%d x %d, %d cells, %v, want %q", m.Rows, m.Cols, len(cells), err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("%d bytes allocated", used)
			}
		})
	}
}

// TestSharing refers to one table from many places: what grows with each level must not be followed.
func TestSharing(t *testing.T) {
	meta := buildFlat([]val{{slot: 0, v: int16(4)}, {slot: 1, v: uint8(kindSchema)}, {slot: 2, v: []val{{slot: 1, v: [][]val{}}}}})
	// Fields whose vectors of children all lead to the next one.
	f := builder{b: meta}
	root := newFlat(meta, 0).root().tab(2).slot(1, 4)
	f.align(4)
	place := len(f.b)
	for level := range 40 {
		f.align(4)
		vec := len(f.b)
		if level == 0 {
			place = vec
		}
		f.b = binary.LittleEndian.AppendUint32(f.b, 2)
		f.b = append(f.b, make([]byte, 8)...)
		table := f.table([]val{{slot: 0, v: "x"}, {slot: 2, v: uint8(12)}, {slot: 5, v: int32(0)}})
		binary.LittleEndian.PutUint32(f.b[vec+4:], uint32(table-vec-4))
		binary.LittleEndian.PutUint32(f.b[vec+8:], uint32(table-vec-8))
		if level < 39 {
			f.align(4)
			slot := newFlat(f.b, 0).tab(table).slot(5, 4)
			binary.LittleEndian.PutUint32(f.b[slot:], uint32(len(f.b)-slot))
		}
	}
	binary.LittleEndian.PutUint32(f.b[root:], uint32(place-root))
	f.align(8)
	data := append(binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), uint32(len(f.b))), f.b...)
	if _, _, err := load(append(data, endMark...), map[string]string{"other": "skip"}, nil); err == nil || !strings.Contains(err.Error(), "referred to more than once") {
		t.Errorf("%v, want it refused", err)
	}
	if err := Codec.Explain(context.Background(), bucketOf(t, data), "a.arrow", dump.New(&bytes.Buffer{})); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("explain: %v", err)
	}
}

// TestBigEndian reads values in the other order.
func TestBigEndian(t *testing.T) {
	body := wire.AppendU64(nil, wire.Big, 0x3ff8000000000000)
	_, got, err := load(stream(1, [][]val{newNumber("x", matrix.F64)}, batchOf(1, 1, 0, 0, 8), body), nil, nil)
	if err != nil || strings.Join(got, "") != "1.5" {
		t.Errorf("%v, %v, want 1.5", got, err)
	}
}

// TestFlips turns every bit of one file, and many of files of every kind: an error, or a table with as many cells, and no panic. Explain goes
// through the same bytes.
func TestFlips(t *testing.T) {
	for name, set := range allFiles {
		data := stored(t, name)
		m, cells, err := load(data, set, nil)
		if err != nil {
			t.Fatal(err)
		}
		step := 5 // which meets every bit of some byte
		if name == "v5.arrows" {
			step = 1
		}
		for i := 0; i < len(data)*8; i += step {
			bad := slices.Clone(data)
			bad[i/8] ^= 1 << (i % 8)
			got, some, err := load(bad, set, nil)
			if err == nil && (got.Rows != m.Rows || len(some) > len(cells) || set["other"] == "" && len(some) != len(cells)) {
				t.Errorf("%s, bit %d of byte %d: %d x %d, %d cells without an error, want %d", name, i%8, i/8, got.Rows, got.Cols, len(some), len(cells))
			}
			if err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) && !errors.Is(err, format.ErrLimit) {
				t.Errorf("%s, bit %d of byte %d: %v", name, i%8, i/8, err)
			}
			if i%64 == 9 {
				_ = Codec.Explain(context.Background(), bucketOf(t, bad), "a.arrow", dump.New(&bytes.Buffer{}))
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for name := range allFiles {
		f.Add(stored(f, name))
	}
	f.Add([]byte(endMark))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, cells, err := load(data, map[string]string{"nulls": "0", "other": "skip", "open": "true"}, &matrix.Rect{Rows: matrix.Range{Hi: 100}, Cols: matrix.Range{Hi: 100}})
		if err == nil && int64(len(cells)) > 0 && m.Check() != nil {
			t.Errorf("%v", m.Check())
		}
		_ = Codec.Explain(context.Background(), bucketOf(t, data), "a.arrow", dump.New(&bytes.Buffer{}))
	})
}
