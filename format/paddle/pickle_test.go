package paddle

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

const (
	typesText = `f4 [4] f32 [0 1 2 100]
f8 [4] f64 [0 1 2 100]
f2 [4] f16 [0 1 2 100]
i8 [4] i64 [0 1 2 100]
i4 [4] i32 [0 1 2 100]
i2 [4] i16 [0 1 2 100]
i1 [4] i8 [0 1 2 100]
u8 [4] u64 [0 1 2 100]
u4 [4] u32 [0 1 2 100]
u2 [4] bf16 [0 9.183549615799121e-41 1.8367099231598242e-40 9.183549615799121e-39]
u1 [4] u8 [0 1 2 100]
b1 [4] bool [0 1 1 0]
big [2 2] i32 [1 2 3 -4]
fortran [2 3] f32 [0 1 2 3 4 5]
cube [2 3 4] i16 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23]
rank0 [] f32 [7.5]
empty [0 3] f32 []
scalar [] f64 [0.25]`
	slicedText = "a [1] f32 [1.5]\nw [2 5] f32 paddle.parameter=linear_0.w_0 [0 1 2 3 4 5 6 7 8 9]"
	tensorText = "fc_0.w_0 [3] f32 [0 1 2]"
	lodText    = "x [3] f32 [0 1 2]\nlist/0 [3] f32 paddle.parameter=t0 [0 1 2]\nlist/1 [3] f32 [1 2 3]"
	optText    = "linear_0.w_0_moment1_0 [3] f32 [0 1 2]\nmaster_weights/linear_0.w_0 [3] f32 [0 2 4]"
)

const optValues = `{
  "LR_Scheduler/base": null,
  "LR_Scheduler/last_epoch": 3,
  "LR_Scheduler/last_lr": 0.01,
  "LR_Scheduler/verbose": false,
  "big": 1099511627776,
  "milestones/0": 1,
  "milestones/1": 2,
  "milestones/2": 300,
  "milestones/3": 70000,
  "n": -5
}
`

// TestPickles reads what Python wrote.
func TestPickles(t *testing.T) {
	for file, want := range map[string]string{
		"types_p2.pdparams": typesText, "types_p4.pdparams": typesText, "types_p5.pdparams": typesText,
		"sliced_p2.pdparams": slicedText, "sliced_p3.pdparams": slicedText,
		"tensor_p2.pdparams": tensorText, "tensor_p4.pdparams": tensorText,
		"lod_p2.pdparams": lodText, "lod_p4.pdparams": lodText,
		"opt_p2.pdopt": optText, "opt_p4.pdopt": optText,
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile("testdata/pickle/" + file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := put(t, file, data)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(t, r); got != want {
				t.Errorf("holds\n%s\nwant\n%s", got, want)
			}
			notes := strings.Join(r.Notes(), "\n")
			if want == optText && !strings.Contains(notes, `"LR_Scheduler/last_lr" is no array: 0.01`) {
				t.Errorf("notes %q, want the learning rate", notes)
			}
			if beside := string(r.Files()["values.json"]); want == optText && beside != optValues || want != optText && beside != "" {
				t.Errorf("beside the matrices:\n%s", beside)
			}
			if want == typesText && !strings.Contains(notes, "bf16") {
				t.Errorf("notes %q, want a word on bf16", notes)
			}
			for i := range data {
				if r, err := put(t, file, data[:i]); err == nil {
					t.Errorf("%d of %d bytes: %s", i, len(data), describe(t, r))
				}
			}
		})
	}
}

// TestPicklesRefused names what is not allowed, and where it stands.
func TestPicklesRefused(t *testing.T) {
	for file, want := range map[string]string{
		"hostile_p2.pdparams":    `forbidden global "posix.system"`,
		"hostile_p4.pdparams":    `forbidden global "posix.system"`,
		"hostile_eval.pdparams":  `forbidden use of global "__builtin__.eval"`,
		"hostile_eval2.pdparams": `forbidden use of global "__builtin__.eval"`,
	} {
		data, err := os.ReadFile("testdata/pickle/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = put(t, file, data)
		var global *GlobalError
		var where *format.Error
		if !errors.As(err, &global) || !strings.Contains(err.Error(), want) || !errors.Is(err, format.ErrCorrupt) ||
			!errors.As(err, &where) || where.Off < 100 {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	for file, want := range map[string]string{"object.pdparams": `NumPy "O8"`} {
		data, err := os.ReadFile("testdata/pickle/" + file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = put(t, file, data)
		var unheld *UnheldError
		if !errors.As(err, &unheld) || unheld.Type != want || !errors.Is(err, format.ErrVersion) {
			t.Errorf("%s: %v, want an error about %s", file, err, want)
		}
	}
	data, err := os.ReadFile("testdata/pickle/loop.pdparams")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(t, "loop.pdparams", data); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want a limit on a list within itself", err)
	}
}

// The parts of pickles as programs of Python 2 wrote them: one array of two values.
const (
	newArray  = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
	floatType = "cnumpy\ndtype\n(U\x02f4K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
	twoFloats = newArray + "(K\x01(K\x02t" + floatType + "\x89U\x08\x00\x00\x80?\x00\x00\x00@tb"
)

// TestPython2 reads texts that are bytes, a memo that begins at 1, and numbers for truth values.
func TestPython2(t *testing.T) {
	r, err := put(t, "w", []byte("\x80\x02}q\x01(U\x01wq\x02"+twoFloats+"U\x05stepsK\x07u."))
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(t, r); got != "w [2] f32 [1 2]" {
		t.Errorf("holds %s", got)
	}
}

// TestPickleDamage checks the machine's errors.
func TestPickleDamage(t *testing.T) {
	array := "\x80\x02" + twoFloats
	for what, c := range map[string]struct {
		data, want string
		is         error
	}{
		"protocol 6":        {"\x80\x06N.", "protocol 6", format.ErrVersion},
		"bytes behind":      {array + ".x", "1 bytes after", format.ErrCorrupt},
		"no array":          {"\x80\x02N.", "without an array", format.ErrCorrupt},
		"nothing":           {"\x80\x02.", "0 values at the end", format.ErrCorrupt},
		"two values":        {array + "N.", "2 values at the end", format.ErrCorrupt},
		"open mark":         {"\x80\x02(" + twoFloats + ".", "at the end", format.ErrCorrupt},
		"INST":              {"\x80\x02(ios\nsystem\n.", `forbidden use of global "os.system" by INST`, format.ErrCorrupt},
		"NEWOBJ":            {array + ")\x81.", "NEWOBJ", format.ErrCorrupt},
		"persistent id":     {"\x80\x02U\x01xQ.", "BINPERSID", format.ErrCorrupt},
		"out of band":       {"\x80\x05\x97.", "NEXT_BUFFER", format.ErrCorrupt},
		"extension":         {"\x80\x02\x82\x01.", "EXT1", format.ErrCorrupt},
		"odd operation":     {"\x80\x02\xfe.", "0xfe", format.ErrCorrupt},
		"PROTO twice":       {"\x80\x02\x80\x02N.", "PROTO again", format.ErrCorrupt},
		"long frame":        {"\x80\x04\x95\xff\x00\x00\x00\x00\x00\x00\x00N.", "length of the frame", format.ErrCorrupt},
		"long text":         {"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffN.", "length 18446744073709551615", format.ErrCorrupt},
		"empty memo":        {"\x80\x02h\x05.", "nothing was remembered", format.ErrCorrupt},
		"far memo":          {"\x80\x02Nr\xff\xff\xff\x7f.", "remembered at place", format.ErrCorrupt},
		"hole in memo":      {"\x80\x02Nq\x01h\x00.", "nothing was remembered", format.ErrCorrupt},
		"key of two":        {"\x80\x02}NN\x86Ns.", "a tuple as a key", format.ErrCorrupt},
		"no mark":           {"\x80\x02t.", "no mark", format.ErrCorrupt},
		"below the mark":    {"\x80\x02NN(\x86.", "no value", format.ErrCorrupt},
		"odd dictionary":    {"\x80\x02}(U\x01au.", "key without a value", format.ErrCorrupt},
		"key twice":         {"\x80\x02}(U\x01aNU\x01aNu.", "twice", format.ErrCorrupt},
		"append to nothing": {"\x80\x02NNa.", "want a list", format.ErrCorrupt},
		"call of a text":    {"\x80\x02U\x01a)R.", "REDUCE", format.ErrCorrupt},
		"state of a list":   {"\x80\x02](Ntb.", "BUILD", format.ErrCorrupt},
		"line":              {"\x80\x02c" + strings.Repeat("x", 3000) + ".", "line feed", format.ErrCorrupt},
		"other module":      {"\x80\x02cos\npath\n.", `"os.path"`, format.ErrCorrupt},
		"other name":        {"\x80\x02cnumpy\nload\n.", `"numpy.load"`, format.ErrCorrupt},
		"dotted name":       {"\x80\x04\x8c\x05numpy\x8c\x0cndarray.dump\x93.", `"numpy.ndarray.dump"`, format.ErrCorrupt},
		"unbuilt array":     {"\x80\x02" + newArray + ".", "without shape", format.ErrCorrupt},
		"built twice":       {array + "(K\x01(K\x02t" + floatType + "\x89U\x08\x00\x00\x80?\x00\x00\x00@tb.", "once", format.ErrCorrupt},
		"negative size":     {"\x80\x02" + newArray + "(K\x01(J\xff\xff\xff\xfft" + floatType + "\x89U\x00tb.", "-1", format.ErrCorrupt},
		"huge size": {"\x80\x02" + newArray + "(K\x01(" + strings.Repeat("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 3) + "t" + floatType +
			"\x89U\x00tb.", "2^63", format.ErrCorrupt},
		"few values":   {"\x80\x02" + newArray + "(K\x01(K\x03t" + floatType + "\x89U\x08\x00\x00\x80?\x00\x00\x00@tb.", "8 bytes of values, want 12", format.ErrCorrupt},
		"no latin1":    {"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00aX\x04\x00\x00\x00utf8tR.", "_codecs.encode", format.ErrCorrupt},
		"long number":  {"\x80\x02\x8a\x09123456789.", "9 bytes", format.ErrLimit},
		"deep stack":   {"\x80\x02" + strings.Repeat("N", maxStack+1) + ".", "stack", format.ErrLimit},
		"deep marks":   {"\x80\x02" + strings.Repeat("(", maxStack+1) + ".", "marks", format.ErrLimit},
		"many objects": {"\x80\x02]" + strings.Repeat("("+strings.Repeat("]", maxStack/2)+"e", 16) + ".", "objects", format.ErrLimit},
		"deep lists":   {"\x80\x02" + strings.Repeat("(", 50) + twoFloats + strings.Repeat("l", 50) + ".", "within each other", format.ErrLimit},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := put(t, "w", []byte(c.data))
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestWidePickle checks that lists that hold each other many times over end at a limit.
func TestWidePickle(t *testing.T) {
	data := "\x80\x02(" + twoFloats + "q\x00"
	for range 20 {
		data += "(" + strings.Repeat("h\x00", 10) + "lq\x00" // holds the one before ten times
	}
	data += "l."
	if _, err := put(t, "w", []byte(data)); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want a limit", err)
	}
}

// TestLatin reads anywhere in a text of more than one step, and finds bytes that are no such text.
func TestLatin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*latinStep).Draw(t, "size")
		seed := rapid.Byte().Draw(t, "seed")
		want := make([]byte, n)
		var encoded []rune
		for i := range want {
			want[i] = byte(i*7) ^ seed ^ byte(i>>8)
			encoded = append(encoded, rune(want[i]))
		}
		in := strings.NewReader("xx" + string(encoded))
		text, err := measure(in, 2, in.Size()-2)
		if err != nil || text.size != int64(n) {
			t.Fatalf("%d characters, %v, want %d", text.size, err, n)
		}
		lo := rapid.IntRange(0, n).Draw(t, "from")
		hi := rapid.IntRange(lo, n).Draw(t, "to")
		got := make([]byte, hi-lo)
		if err := readAt(text, got, int64(lo)); err != nil && hi > lo {
			t.Fatal(err)
		}
		if string(got) != string(want[lo:hi]) {
			t.Fatalf("other bytes from %d to %d", lo, hi)
		}
		if err := readAt(text, make([]byte, hi-lo+1), int64(n-(hi-lo))); err == nil {
			t.Fatal("read beyond the end")
		}
	})
	for _, bad := range []string{"\x80", "\xc4\x80", "\xc2", "a\xc2a", "\xff", "€"} {
		if _, err := measure(strings.NewReader(bad), 0, int64(len(bad))); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestPieces reads across the borders of slices.
func TestPieces(t *testing.T) {
	p := &pieces{base: 100}
	whole := ""
	for _, s := range []string{"abc", "", "d", "efgh"} {
		p.add(strings.NewReader("--"+s), 2, int64(len(s)))
		whole += s
	}
	for lo := range len(whole) {
		for hi := lo + 1; hi <= len(whole); hi++ {
			got := make([]byte, hi-lo)
			if err := readAt(p, got, int64(100+lo)); err != nil || string(got) != whole[lo:hi] {
				t.Errorf("%d to %d: %q, %v, want %q", lo, hi, got, err, whole[lo:hi])
			}
		}
	}
	if err := readAt(p, make([]byte, 2), 107); err == nil {
		t.Error("read beyond the end")
	}
}

// TestLargeSlices reads a place of an array in slices of protocol 2, each of several steps.
func TestLargeSlices(t *testing.T) {
	const rows, cols = 100, 1000
	var entries, names string
	short := func(s string) string { return "U" + string(rune(len(s))) + s }
	for i := range 4 {
		var values []rune
		for k := range rows * cols / 4 {
			for _, b := range binary.LittleEndian.AppendUint32(nil, uint32(i*rows*cols/4+k)) {
				values = append(values, rune(b))
			}
		}
		name := "w@@." + string(rune('0'+i))
		text := string(values)
		size := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
		entries += short(name) + newArray + "(K\x01(J\xa8\x61\x00\x00t" + strings.Replace(floatType, "f4", "i4", 1) +
			"\x89c_codecs\nencode\n(X" + string(size) + text + short("latin1") + "tRtb"
		names += short(name)
	}
	data := "\x80\x02}(" + entries + short(keySliced) + "}(" + short("w") + "}(" + short("OriginShape") + "(KdM\xe8\x03t" +
		short("slices") + "(" + names + "luuu."
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "m", []byte(data)); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(ctx, b, "m", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := matrix.At(20, 80, 10, 990)
	cells := 0
	for blk, err := range r.Blocks(ctx, "w", want) {
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range blk.Data.Values().([]int32) {
			row, col := blk.At.Rows.Lo+int64(i)/blk.At.Cols.Len(), blk.At.Cols.Lo+int64(i)%blk.At.Cols.Len()
			if int64(v) != row*cols+col {
				t.Fatalf("cell (%d,%d) is %d", row, col, v)
			}
			cells++
		}
	}
	if n, _ := want.Cells(); int64(cells) != n {
		t.Errorf("%d cells, want %d", cells, n)
	}
}
