package paddle

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

func le32(v int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func le64(v int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

// descOf is the description of a tensor, with packed dimensions or without.
func descOf(code byte, dims []int64, packed bool) []byte {
	b := []byte{0x08, code}
	var list []byte
	for _, d := range dims {
		if !packed {
			b = append(b, 0x10)
		}
		b = binary.AppendUvarint(b, uint64(d))
		list = binary.AppendUvarint(list, uint64(d))
	}
	if packed {
		return append(append([]byte{0x08, code, 0x12}, byte(len(list))), list...)
	}
	return b
}

// rawOf are the bytes of the values.
func rawOf(x tensor) []byte {
	raw, size := wire.ViewAny(x.block.Data.Values())
	raw = slices.Clone(raw)
	wire.Swap(raw, size, wire.Little)
	return raw
}

// bareOf is a tensor with version and description.
func bareOf(x tensor, packed bool) []byte {
	code, _ := codeOf(x.meta.DType)
	desc := descOf(code, x.meta.Dims, packed)
	return slices.Concat(le32(0), le32(len(desc)), desc, rawOf(x))
}

func fileB(x tensor, packed bool) []byte {
	b := append(bareOf(x, packed), le64(len(x.meta.LoD))...)
	for _, level := range x.meta.LoD {
		b = append(b, le64(8*len(level))...)
		for _, v := range level {
			b = append(b, le64(int(v))...)
		}
	}
	return b
}

func fileP(x tensor, packed bool) []byte {
	code, _ := codeOf(x.meta.DType)
	desc := descOf(code, x.meta.Dims, packed)
	for _, level := range x.meta.LoD {
		var in []byte
		for _, v := range level {
			in = binary.AppendUvarint(append(in, 0x08), uint64(v))
		}
		desc = append(append(desc, 0x1a, byte(len(in))), in...)
	}
	desc = append(desc, 0x20, byte(len(x.meta.LoD)))
	raw := rawOf(x)
	return slices.Concat(le64(len(desc)), le64(len(raw)), desc, raw)
}

func fileT(list []tensor, packed bool) []byte {
	b := append(make([]byte, reservedBytes), "TNUM"...)
	b = append(b, le64(len(list))...)
	for _, x := range list {
		b = slices.Concat(b, []byte("NAME"), le64(len(x.meta.Name)), []byte(x.meta.Name), bareOf(x, packed))
	}
	return b
}

// TestOlderLayouts writes random tensors in layouts B, P and T, and reads them.
func TestOlderLayouts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		packed := rapid.Bool().Draw(rt, "packed")
		var list []tensor
		for i := range rapid.IntRange(1, 3).Draw(rt, "tensors") {
			list = append(list, drawTensor(rt, fmt.Sprintf("t%d", i)))
		}
		first := list[:1]
		first[0].meta.Name = "w" // as the file
		check := func(what string, data []byte, want []tensor) {
			got, notes, err := load(data, "")
			if err != nil || !strings.HasPrefix(notes[0], what) || len(got) != len(want) {
				rt.Fatalf("%s: %d tensors, %q, %v, want %d", what, len(got), notes, err, len(want))
			}
			for i := range got {
				if !equal(got[i], want[i]) {
					rt.Errorf("%s: tensor %d is %v, want %v", what, i, got[i], want[i])
				}
			}
		}
		check("v011", fileB(first[0], packed), first)
		check("pr4602", fileP(first[0], packed), first)
		check("pr4602", append(fileP(first[0], packed), '\n'), first)
		plain := slices.Clone(list)
		var together, lines []byte
		for i := range plain {
			together = append(together, fileP(plain[i], packed)...)
			lines = append(append(lines, fileP(plain[i], packed)...), '\n')
			plain[i].meta.LoD = nil
		}
		check("tnum", fileT(plain, packed), plain)
		if len(list) == 1 {
			return
		}
		numbered := slices.Clone(list)
		for i := range numbered {
			numbered[i].meta.Name = fmt.Sprintf("tensor_%d", i)
		}
		check("pr4602", together, numbered)
		check("pr4602", lines, numbered)
		check("pr4602", lines[:len(lines)-1], numbered)
	})
}

// rowsFile is a file of selected rows with one f32 value for each number from 1 on.
func rowsFile(ids []int, height int, dims []int64, values int) []byte {
	b := append(le32(0), le64(len(ids))...)
	for _, id := range ids {
		b = append(b, le64(id)...)
	}
	b = append(b, le64(height)...)
	desc := descOf(codeF32, dims, false)
	b = slices.Concat(b, le32(0), le32(len(desc)), desc)
	for i := range values {
		b, _ = binary.Append(b, binary.LittleEndian, float32(i+1))
	}
	return b
}

// TestSelectedRows reads rows in any order, of any shape.
func TestSelectedRows(t *testing.T) {
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"ascending":    {rowsFile([]int{1, 4, 7}, 10, []int64{3, 2}, 6), "w [10 2] f32 rows [[1,2) [4,5) [7,8)] [1 2 3 4 5 6]"},
		"any order":    {rowsFile([]int{7, 0, 1, 4}, 10, []int64{4, 2}, 8), "w [10 2] f32 rows [[0,2) [4,5) [7,8)] [3 4 5 6 7 8 1 2]"},
		"descending":   {rowsFile([]int{2, 1, 0}, 3, []int64{3, 1}, 3), "w [3 1] f32 rows [[0,3)] [3 2 1]"},
		"none":         {rowsFile(nil, 4, []int64{0, 3}, 0), "w [4 3] f32 rows [] []"},
		"one value":    {rowsFile([]int{3, 5}, 6, []int64{2}, 2), "w [6 1] f32 rows [[3,4) [5,6)] [1 2]"},
		"higher ranks": {rowsFile([]int{1}, 2, []int64{1, 2, 2}, 4), "w [2 2 2] f32 rows [[1,2)] [1 2 3 4]"},
		"tall":         {rowsFile([]int{1 << 40}, 1<<50, []int64{1, 2}, 2), "w [1125899906842624 2] f32 rows [[1099511627776,1099511627777)] [1 2]"},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := put(t, "w", c.data)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(t, r); got != c.want {
				t.Errorf("holds %s, want %s", got, c.want)
			}
			m := r.Matrices()[0]
			if err := m.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	r, err := put(t, "w", rowsFile([]int{7, 0, 1, 4}, 10, []int64{4, 2}, 8))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for b, err := range r.Blocks(t.Context(), "w", matrix.At(1, 7, 1, 2)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(b.At, b.Data.Values()))
	}
	want := []string{"rows [1,2) x cols [1,2) [6]", "rows [4,5) x cols [1,2) [8]"}
	if !slices.Equal(got, want) {
		t.Errorf("a place holds %v, want %v", got, want)
	}
}

// archive packs files, in turn name and content.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644, Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// v2File is a parameter of two f32 values, with its header.
func v2File(form, width, n int) string {
	return string(slices.Concat(le32(form), le32(width), le64(n))) + "\x00\x00\x80\x3f\x00\x00\x00\x40"
}

func configFile(name string, size byte, dims ...byte) string {
	b := "\x0a" + string(rune(len(name))) + name + "\x10" + string(rune(size)) + "\x19\x00\x00\x00\x00\x00\x00\xf0\x3f"
	for _, d := range dims {
		b += "\x48" + string(rune(d))
	}
	return b
}

// TestV2 reads files and archives of the second API version.
func TestV2(t *testing.T) {
	long := strings.Repeat("n", 120)
	for what, c := range map[string]struct {
		data, want string
	}{
		"f32":         {v2File(0, 4, 2), "w [2] f32 [1 2]"},
		"f64":         {v2File(0, 8, 1), "w [1] f64 [2.000000473111868]"},
		"mkldnn":      {v2File(1, 4, 2), "w [2] f32 [1 2]"},
		"none":        {v2File(0, 4, 0)[:16], "w [0] f32 []"},
		"archive":     {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 2, 2, 1))), "a [2 1] f32 [1 2]"},
		"no shape":    {string(archive(t, "a.protobuf", configFile("a", 2), "a", v2File(0, 4, 2))), "a [1 2] f32 [1 2]"},
		"long name":   {string(archive(t, long, v2File(0, 4, 2), long+".protobuf", configFile(long, 2))), long + " [1 2] f32 [1 2]"},
		"config name": {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 2), "b", v2File(0, 4, 2), "b.protobuf", configFile("b", 2))), "a [1 2] f32 [1 2]\nb [1 2] f32 [1 2]"},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := put(t, "w", []byte(c.data))
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(t, r); got != c.want {
				t.Errorf("holds %s, want %s", got, c.want)
			}
		})
	}
}

// TestV2Named: a file whose length fits the number of its values is of the second API version, whatever format it says; one whose
// length does not only if the format is one that is read.
func TestV2Named(t *testing.T) {
	for what, c := range map[string]struct{ data, want string }{
		"format 2":              {v2File(2, 4, 2), "format 2, want 0 or 1"},
		"format 2, f64":         {v2File(2, 8, 1), "format 2, want 0 or 1"},
		"format 2, no type":     {v2File(2, 2, 4), "want a parameter file"},
		"format 2, too short":   {v2File(2, 4, 3), "want a parameter file"},
		"format 2, too long":    {v2File(2, 4, 1), "want a parameter file"},
		"format 2, cut":         {v2File(2, 4, 0)[:15], "want a parameter file"},
		"format 2, 2^62 values": {v2File(2, 4, 1<<62+2), "want a parameter file"}, // its bytes overflow to those that there are
		"format 255":            {v2File(255, 4, 2), "format 255, want 0 or 1"},
		"format 256":            {v2File(256, 4, 2), "want a parameter file"},
	} {
		if r, err := put(t, "w", []byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %q", what, r, err, c.want)
		}
	}
}

// TestOlderDamage checks the errors of the layouts.
func TestOlderDamage(t *testing.T) {
	x := tensor{matrix.Meta{Name: "w", Rows: 2, Cols: 1, DType: matrix.F32, Dims: []int64{2, 1}}, matrix.NewDense(matrix.F32, matrix.At(0, 2, 0, 1))}
	bare := func(desc string, values int) string {
		return string(slices.Concat(le32(0), le32(len(desc)))) + desc + strings.Repeat("\x00", values)
	}
	b := string(fileB(x, false))
	p := string(fileP(x, false))
	tn := string(fileT([]tensor{x}, false))
	set := func(s string, at int, with string) string { return s[:at] + with + s[at+len(with):] }
	no := string(le64(0))
	for what, c := range map[string]struct {
		data, want string
		is         error
	}{
		"b complex, cut":    {bare("\x08\x17\x10\x02", 8) + no, "bytes", format.ErrCorrupt},
		"b no data type":    {bare("\x08\x07\x10\x01", 1) + no, "code 7", format.ErrVersion},
		"b negative":        {bare("\x08\x05\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 4) + no, "-1", format.ErrCorrupt},
		"b overflow":        {bare("\x08\x05"+strings.Repeat("\x10\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 2), 4) + no, "2^63", format.ErrCorrupt},
		"b rank 10":         {bare("\x08\x05"+strings.Repeat("\x10\x01", 10), 4) + no, "more than 9", format.ErrCorrupt},
		"b long varint":     {bare("\x08\x05\x10"+strings.Repeat("\xff", 10)+"\x01", 4) + no, "64 bits", format.ErrCorrupt},
		"b cut varint":      {bare("\x08\x05\x10\xff", 0), "ends too early", format.ErrCorrupt},
		"b other field":     {bare("\x08\x05\x1a\x00", 4) + no, "field 3", format.ErrCorrupt},
		"b second type":     {bare("\x08\x05\x08\x05", 4) + no, "second element type", format.ErrCorrupt},
		"b levels":          {bare("\x08\x05\x10\x01", 4) + string(le64(17)), "0..16", format.ErrCorrupt},
		"b level size":      {bare("\x08\x05\x10\x01", 4) + string(le64(1)) + string(le64(12)) + strings.Repeat("\x00", 12), "multiple of 8", format.ErrCorrupt},
		"b level huge":      {bare("\x08\x05\x10\x01", 4) + string(le64(1)) + string(le64(1<<62)), "size of a LoD level", format.ErrCorrupt},
		"b level order":     {bare("\x08\x05\x10\x01", 4) + string(le64(1)) + string(le64(16)) + string(le64(0)) + string(le64(2)), "last offset 2", format.ErrCorrupt},
		"b behind":          {b + "x", "1 bytes after", format.ErrCorrupt},
		"b huge desc":       {set(b, 4, "\x00\x04\x00\x00"), "description", format.ErrCorrupt},
		"p sizes":           {set(p, 8, "\x04"), "size of the values is 4, want 8", format.ErrCorrupt},
		"p levels":          {set(p, 16+7, "\x01"), "0 LoD levels, want 1", format.ErrCorrupt},
		"p behind":          {p + "x", "", format.ErrCorrupt},
		"p other field":     {strings.Replace(p, "\x20\x00", "\x2a\x00", 1), "field 5", format.ErrCorrupt},
		"t count":           {set(tn, 260, "\x02"), "number of tensors", format.ErrCorrupt},
		"t fewer":           {set(tn, 260, "\x00"), "after the last tensor", format.ErrCorrupt},
		"t mark":            {set(tn, 268, "NOPE"), `mark "NOPE", want "NAME"`, format.ErrCorrupt},
		"t name length":     {set(tn, 272, "\xff\xff\xff\xff\xff\xff\xff\xff"), "length of the name", format.ErrCorrupt},
		"t name":            {set(tn, 280, "\x00"), "without NUL", format.ErrCorrupt},
		"t twice":           {string(fileT([]tensor{x, x}, false)), "second tensor", format.ErrCorrupt},
		"t version":         {set(tn, 281, "\x01"), "tensor version 1", format.ErrVersion},
		"r beyond":          {string(rowsFile([]int{1, 10}, 10, []int64{2, 2}, 4)), "row 10, want 0..9", format.ErrCorrupt},
		"r twice":           {string(rowsFile([]int{1, 1}, 10, []int64{2, 2}, 4)), "row 1 a second time", format.ErrVersion},
		"r negative":        {string(rowsFile([]int{1, -1}, 10, []int64{2, 2}, 4)), "-1", format.ErrCorrupt},
		"r height":          {string(rowsFile([]int{1}, -5, []int64{1, 2}, 2)), "-5", format.ErrCorrupt},
		"r dimensions":      {string(rowsFile([]int{1, 2, 3}, 10, []int64{2, 2}, 4)), "for 3 rows", format.ErrCorrupt},
		"r overflow":        {string(rowsFile([]int{1}, 1<<62, []int64{1, 4}, 4)), "2^63", format.ErrCorrupt},
		"v2 format":         {v2File(2, 4, 2), "format 2, want 0 or 1", format.ErrVersion},
		"v2 count":          {v2File(0, 4, 3), "number of values", format.ErrCorrupt},
		"v2 behind":         {v2File(0, 4, 1), "after the values", format.ErrCorrupt},
		"tar no config":     {string(archive(t, "a", v2File(0, 4, 2))), "without its file a.protobuf", format.ErrCorrupt},
		"tar no values":     {string(archive(t, "a.protobuf", configFile("a", 2))), "a file with its values too", format.ErrCorrupt},
		"tar other name":    {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("b", 2))), `"b", want of "a"`, format.ErrCorrupt},
		"tar other size":    {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 3))), "2 values, want 3", format.ErrCorrupt},
		"tar other shape":   {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 2, 3))), "want 3 for dimensions", format.ErrCorrupt},
		"tar no name":       {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", "\x10\x02")), "without name or size", format.ErrCorrupt},
		"tar twice":         {string(archive(t, "a", v2File(0, 4, 2), "a", v2File(0, 4, 2))), "second file", format.ErrCorrupt},
		"tar values behind": {string(archive(t, "a", v2File(0, 4, 1), "a.protobuf", configFile("a", 1))), "after the values", format.ErrCorrupt},
		"tar end":           {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 2))[:2048]), "without its end", format.ErrCorrupt},
		"tar behind":        {string(archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 2))) + strings.Repeat("x", 512), "behind the archive", format.ErrCorrupt},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := put(t, "w", []byte(c.data))
			var where *format.Error
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || !errors.As(err, &where) || where.Off < 0 {
				t.Errorf("%v, want %q at a byte", err, c.want)
			}
		})
	}
}

// TestNotes checks what users are told of doubtful files.
func TestNotes(t *testing.T) {
	x := tensor{matrix.Meta{Name: "w", Rows: 1, Cols: 2, DType: matrix.F32, Dims: []int64{2}}, matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 2))}
	remains := fileT([]tensor{x}, false)
	copy(remains, "secret")
	versioned := fileP(x, false)
	versioned = slices.Concat(le64(int(versioned[0])+2), versioned[8:len(versioned)-8], []byte("\x28\x07"), versioned[len(versioned)-8:])
	for want, data := range map[string][]byte{
		"memory of the program": remains,
		"field 5":               versioned,
		"order of mkldnn":       []byte(v2File(1, 4, 2)),
		"ascending":             rowsFile([]int{2, 1}, 3, []int64{2, 1}, 2),
		"line feed":             append(fileP(x, false), '\n'),
	} {
		r, err := put(t, "w", data)
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, want) || strings.Contains(notes, "secret") {
			t.Errorf("notes %q, want one on %s", notes, want)
		}
	}
}
