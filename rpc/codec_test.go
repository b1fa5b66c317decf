package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/rpc/rpctest"
	"thole.example/wire"
)

// message is what a Gather can hold.
type message interface {
	Append(g *rpc.Gather) error
}

// aligned is the bytes of the message in memory that begins at a multiple of 8.
func aligned(t interface{ Fatal(...any) }, m message) []byte {
	var g rpc.Gather
	if err := m.Append(&g); err != nil {
		t.Fatal(err)
	}
	body := wire.View(make([]uint64, (g.Len()+7)/8))[:g.Len()]
	copy(body, g.Bytes())
	return body
}

func TestRequest(t *testing.T) {
	for name, q := range map[string]*rpc.Request{"empty": {}, "sample": rpctest.Sample()} {
		t.Run(name, func(t *testing.T) {
			got, err := rpc.ReadRequest(aligned(t, q))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, q) {
				t.Errorf("got\n%+v, want\n%+v", got, q)
			}
		})
	}
}

func TestResponse(t *testing.T) {
	for name, r := range map[string]*rpc.Response{"empty": {}, "sample": rpctest.Answer()} {
		t.Run(name, func(t *testing.T) {
			got, err := rpc.ReadResponse(aligned(t, r))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, r) {
				t.Errorf("got\n%+v, want\n%+v", got, r)
			}
		})
	}
}

// Values and keys are used where they lie in the frame.
func TestInPlace(t *testing.T) {
	q := rpctest.Sample()
	q.Func, q.Arg = "odd", []byte{1, 2}
	body := aligned(t, q)
	got, err := rpc.ReadRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	inside := func(p unsafe.Pointer) bool {
		lo := uintptr(unsafe.Pointer(&body[0]))
		return uintptr(p) >= lo && uintptr(p) < lo+uintptr(len(body))
	}
	for i, p := range got.Parts {
		if len(p.Values) > 0 && !inside(unsafe.Pointer(&p.Values[0])) || len(p.Keys) > 0 && !inside(unsafe.Pointer(&p.Keys[0])) {
			t.Errorf("part %d was copied", i)
		}
		if len(p.Values) > 0 && uintptr(unsafe.Pointer(&p.Values[0]))%8 != 0 {
			t.Errorf("the values of part %d do not begin at a multiple of 8", i)
		}
	}
	if !inside(unsafe.Pointer(&got.Arg[0])) {
		t.Error("the argument was copied")
	}
}

// Large slices are sent from where they lie.
func TestByReference(t *testing.T) {
	keys, val := make([]int64, 1<<13), make([]byte, 1<<18)
	q := &rpc.Request{Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: matrix.U8, Keys: keys, Values: val,
		Groups: []rpc.Group{{Keys: 1 << 13}}}}}
	var g rpc.Gather
	if err := q.Append(&g); err != nil {
		t.Fatal(err)
	}
	if g.Cap() > 1<<10 {
		t.Errorf("%d bytes of own memory for %d of keys and values", g.Cap(), 8*len(keys)+len(val))
	}
	found := 0
	for _, b := range g.Buffers(nil) {
		if p := unsafe.Pointer(&b[0]); p == unsafe.Pointer(&keys[0]) || p == unsafe.Pointer(&val[0]) {
			found++
		}
	}
	if found != 2 && wire.NativeOrder == wire.Little {
		t.Errorf("%d of keys and values are sent from where they lie, want both", found)
	}
}

// The allocations of a message with one part: when read, and when written by a Gather that was used before.
func TestAllocations(t *testing.T) {
	q := &rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: matrix.F32, Keys: make([]int64, 10_000),
		Groups: []rpc.Group{{Keys: 10_000}}}}}
	r := &rpc.Response{Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: matrix.F32, Values: make([]byte, 640_000)}}}
	asked, answered := aligned(t, q), aligned(t, r)
	var g rpc.Gather
	for _, c := range []struct {
		name string
		most float64
		do   func() error
	}{
		{"read a pull", 4, func() error { _, err := rpc.ReadRequest(asked); return err }},
		{"read its answer", 4, func() error { _, err := rpc.ReadResponse(answered); return err }},
		{"write a pull", 0, func() error { g.Reset(); return q.Append(&g) }},
		{"write its answer", 0, func() error { g.Reset(); return r.Append(&g) }},
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
		}); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, n, c.most)
		}
	}
}

func TestFault(t *testing.T) {
	for _, err := range []error{errors.New("plain"), fmt.Errorf("w: %w", rpc.ErrStale), errors.New("")} {
		sent := rpc.NewFault("here", err)
		var g rpc.Gather
		sent.Append(&g)
		got, rerr := rpc.ReadFault(g.Bytes(), "here")
		if rerr != nil || *got != *sent {
			t.Errorf("got %+v, error %v, want %+v", got, rerr, sent)
		}
	}
	long := rpc.NewFault("here", errors.New(strings.Repeat("x", 1<<20)))
	var g rpc.Gather
	long.Append(&g)
	if got, err := rpc.ReadFault(g.Bytes(), "here"); err != nil || len(got.Text) != 64<<10 {
		t.Errorf("a long text: %v, want it cut to 64 KiB", err)
	}
}

// part is any part that is well formed.
func part(t *rapid.T) rpc.Part {
	i64, u32 := rapid.Int64(), rapid.Uint32()
	p := rpc.Part{
		Kind:  rpc.Kind(rapid.IntRange(int(rpc.KindDense), int(rpc.KindFunc)).Draw(t, "kind")),
		DType: rapid.SampledFrom(matrix.DTypes()).Draw(t, "type"), Matrix: u32.Draw(t, "matrix"), Version: u32.Draw(t, "version"),
		Clock: rapid.Int32().Draw(t, "clock"), Rows: matrix.Range{Lo: i64.Draw(t, "lo"), Hi: i64.Draw(t, "hi")},
		Cols: matrix.Range{Lo: i64.Draw(t, "lo"), Hi: i64.Draw(t, "hi")},
	}
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		n := rapid.IntRange(0, 4).Draw(t, "keys")
		p.Groups = append(p.Groups, rpc.Group{Partition: u32.Draw(t, "partition"), Keys: uint32(n)})
		for range n {
			p.Keys = append(p.Keys, i64.Draw(t, "key"))
		}
	}
	if n := rapid.IntRange(0, 5).Draw(t, "values"); n > 0 {
		size := n * p.DType.Size()
		p.Values = rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "bytes")
	}
	return p
}

func parts(t *rapid.T) []rpc.Part {
	var all []rpc.Part
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		all = append(all, part(t))
	}
	return all
}

// data is bytes, nil if there are none.
func data(t *rapid.T, name string) []byte {
	if b := rapid.SliceOf(rapid.Byte()).Draw(t, name); len(b) > 0 {
		return b
	}
	return nil
}

func TestRequestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &rpc.Request{
			Op: rpc.Op(rapid.Uint8().Draw(t, "op")), Clock: rapid.Int32().Draw(t, "clock"), Seq: rapid.Uint64().Draw(t, "seq"),
			Func: rapid.String().Draw(t, "func"), Arg: data(t, "arg"), Parts: parts(t),
		}
		for range rapid.IntRange(0, 3).Draw(t, "ticks") {
			q.Ticks = append(q.Ticks, rpc.Tick{Matrix: rapid.Uint32().Draw(t, "matrix"), Clock: rapid.Int32().Draw(t, "clock"),
				Weight: rapid.Float64().Draw(t, "weight"), Rate: rapid.Float64().Draw(t, "rate")})
		}
		body := aligned(t, q)
		got, err := rpc.ReadRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, q) {
			t.Fatalf("got\n%+v, want\n%+v", got, q)
		}
		cut := rapid.IntRange(0, len(body)-1).Draw(t, "cut")
		if _, err := rpc.ReadRequest(body[:cut]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", cut, len(body))
		}
	})
}

func TestResponseProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &rpc.Response{Clock: rapid.Int32().Draw(t, "clock"), Parts: parts(t)}
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			r.Results = append(r.Results, rpc.Result{Matrix: rapid.Uint32().Draw(t, "matrix"),
				Partition: rapid.Uint32().Draw(t, "partition"), Data: data(t, "data")})
		}
		body := aligned(t, r)
		got, err := rpc.ReadResponse(body)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, r) {
			t.Fatalf("got\n%+v, want\n%+v", got, r)
		}
		cut := rapid.IntRange(0, len(body)-1).Draw(t, "cut")
		if _, err := rpc.ReadResponse(body[:cut]); err == nil {
			t.Fatalf("%d of %d bytes were accepted", cut, len(body))
		}
	})
}

// damage sets bytes of a good message.
type damage struct {
	name string
	at   int
	set  []byte
	want string
}

var ones = []byte{255, 255, 255, 255, 255, 255, 255, 255}

func testDamaged(t *testing.T, body []byte, cases []damage, read func([]byte) error) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(body)
			copy(b[c.at:], c.set)
			if err := read(b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	if err := read(append(bytes.Clone(body), 0)); err == nil || !strings.Contains(err.Error(), "1 bytes after the end") {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestDamagedRequest(t *testing.T) {
	const ticks, first = 32, 32 + 2*24 + 16 // where they begin: head, two ticks, argument and function
	body := aligned(t, rpctest.Sample())
	testDamaged(t, body, []damage{
		{"reserved", 1, []byte{1}, "at byte 1: reserved byte is not zero"},
		{"name", 2, []byte{1, 16}, "function's name is 4097, want 0..4096"},
		{"long name", 2, []byte{0, 16}, "function's name is 4096, of 1 bytes each, but"},
		{"ticks", 16, ones[:4], "number of ticks is 4294967295, of 24 bytes each"},
		{"parts", 20, ones[:4], "number of parts is 4294967295, of 64 bytes each"},
		{"fewer parts", 20, []byte{4}, "bytes after the end of the request"},
		{"argument", 24, ones[:4], "argument needs 4294967295 bytes"},
		{"more reserved", 31, []byte{1}, "at byte 28: reserved bytes is not zero"},
		{"padding", first - 1, []byte{1}, "padding is not zero"},
		{"kind", first, []byte{5}, "at byte 96: kind of a part is 5, want 1..4"},
		{"no kind", first, []byte{0}, "at byte 96: kind of a part is 0, want 1..4"},
		{"type", first + 1, []byte{14}, "48 bytes of values of type 14"},
		{"no type", first + 1, []byte{0}, "48 bytes of values of type 0"},
		{"part's flags", first + 2, []byte{8}, "flags of a part are 0x8, want a sum of 0x1, 0x2 and 0x4"},
		{"groups", first + 48, ones[:4], "number of groups is 4294967295, of 8 bytes each"},
		{"keys", first + 52, ones[:4], "groups of 0 keys in a part of 4294967295"},
		{"negative values", first + 56, ones, "values of 18446744073709551615 bytes"},
		{"many values", first + 56, []byte{0, 0, 0, 0, 1}, "bytes of values is"},
		{"odd values", first + 56, []byte{47}, "47 bytes of values of type 1"},
		{"group", first + 64 + 4, []byte{1}, "groups of 1 keys in a part of 0"},
	}, func(b []byte) error { _, err := rpc.ReadRequest(b); return err })
	if string(body[ticks:ticks+4]) != "\x03\x00\x00\x00" || body[first] != byte(rpc.KindDense) {
		t.Error("the places of this table are not those of the sample")
	}
}

func TestDamagedResponse(t *testing.T) {
	body := aligned(t, rpctest.Answer())
	last := len(body) - 16 - 8 // the last result and its 8 bytes
	testDamaged(t, body, []damage{
		{"parts", 4, ones[:4], "number of parts is 4294967295, of 64 bytes each"},
		{"results", 8, ones[:4], "number of results is 4294967295, of 16 bytes each"},
		{"fewer results", 8, []byte{2}, "24 bytes after the end of the response"},
		{"reserved", 12, []byte{1}, "at byte 12: reserved bytes is not zero"},
		{"kind", 16, []byte{9}, "at byte 16: kind of a part is 9, want 1..4"},
		{"result", last + 8, ones[:4], "result needs 4294967295 bytes"},
		{"longer result", last + 8, []byte{9}, "result needs 9 bytes, 8 remain"},
		{"result's reserved", last + 12, []byte{1}, "reserved bytes is not zero"},
	}, func(b []byte) error { _, err := rpc.ReadResponse(b); return err })
}

func TestDamagedFault(t *testing.T) {
	var g rpc.Gather
	rpc.NewFault("", errors.New("no")).Append(&g)
	testDamaged(t, g.Bytes(), []damage{
		{"reserved", 2, []byte{1}, "at byte 2: reserved bytes is not zero"},
		{"length", 4, []byte{1, 0, 1}, "text length is 65537, want 0..65536"},
		{"short", 4, []byte{9}, "text length is 9, of 1 bytes each, but 8 bytes remain"},
		{"padding", 15, []byte{1}, "padding is not zero"},
	}, func(b []byte) error { _, err := rpc.ReadFault(b, ""); return err })
	later := g.Bytes()
	later[0] = 200
	if f, err := rpc.ReadFault(later, ""); err != nil || f.Kind != nil || f.Text != "no" {
		t.Errorf("a code of a later version: %+v, error %v, want an error of no kind", f, err)
	}
}

func TestTooLong(t *testing.T) {
	var g rpc.Gather
	q := &rpc.Request{Func: strings.Repeat("n", rpc.NameLimit+1)}
	if err := q.Append(&g); !errors.Is(err, rpc.ErrTooLarge) || !strings.Contains(err.Error(), "4097 bytes, want at most 4096") {
		t.Errorf("got %v, want %v", err, rpc.ErrTooLarge)
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add(aligned(f, rpctest.Sample()))
	f.Add(aligned(f, &rpc.Request{}))
	f.Fuzz(func(t *testing.T, body []byte) {
		if q, err := rpc.ReadRequest(body); err == nil {
			again(t, q, func(b []byte) (message, error) { return rpc.ReadRequest(b) })
		}
	})
}

func FuzzReadResponse(f *testing.F) {
	f.Add(aligned(f, rpctest.Answer()))
	f.Add(aligned(f, &rpc.Response{}))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := rpc.ReadResponse(body); err == nil {
			again(t, r, func(b []byte) (message, error) { return rpc.ReadResponse(b) })
		}
	})
}

func FuzzReadFault(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0, 'n', 'o', 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		fault, err := rpc.ReadFault(body, "x")
		if err != nil {
			return
		}
		var g rpc.Gather
		fault.Append(&g)
		if second, err := rpc.ReadFault(g.Bytes(), "x"); err != nil || *second != *fault {
			t.Errorf("read %+v, and again %+v, error %v", fault, second, err)
		}
	})
}

// again writes what was read and reads it again: the bytes of both are the same. (Values are not compared, as some are
// not a number.)
func again(t *testing.T, m message, read func([]byte) (message, error)) {
	body := aligned(t, m)
	second, err := read(body)
	if err != nil {
		t.Fatalf("what was read and written is not read again: %v", err)
	}
	if !bytes.Equal(aligned(t, second), body) {
		t.Error("written twice, the bytes differ")
	}
}

// The samples have something in every field, so that the tests of echo notice a field that does not cross the wire.
func TestSample(t *testing.T) {
	for _, v := range []any{*rpctest.Sample(), *rpctest.Answer(), rpctest.Parts()[1], rpctest.Answer().Results[0],
		rpctest.Sample().Ticks[0]} {
		r := reflect.ValueOf(v)
		for i := range r.NumField() {
			if name := r.Type().Field(i).Name; r.Field(i).IsZero() && name != "Memory" {
				t.Errorf("%T: the sample has nothing in %s", v, name)
			}
		}
	}
}

// The numbers on the wire never change.
func TestNumbers(t *testing.T) {
	for i, name := range []string{"nothing", "join", "leave", "quit", "members", "create", "pull", "push", "barrier", "get",
		"update", "save", "commit", "abort", "load", "follow", "define", "look", "direct", "catalog", "prune",
		"move", "await", "moving", "copy", "unknown operation"} {
		if rpc.Op(i).String() != name {
			t.Errorf("operation %d is %s, want %s", i, rpc.Op(i), name)
		}
	}
	for i, name := range []string{"f64", "f32", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "f16", "bf16", "bool"} {
		if matrix.DType(i+1).String() != name {
			t.Errorf("type %d is %s, want %s", i+1, matrix.DType(i+1), name)
		}
	}
}
