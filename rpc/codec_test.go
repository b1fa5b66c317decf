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
	all := rpctest.Sample()
	all.Pieces = append(all.Pieces, rpc.Piece{Blocks: rpctest.Blocks()})
	for name, q := range map[string]*rpc.Request{"empty": {}, "sample": all} {
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

// Dense values, keys and columns are used where they lie in the frame.
func TestInPlace(t *testing.T) {
	blocks := rpctest.Sample().Pieces[0].Blocks
	body := aligned(t, &rpc.Request{Job: "odd", Arg: []byte{1}, Pieces: []rpc.Piece{
		{Matrix: "abc", Cols: []int64{1}, Blocks: blocks}, {Blocks: blocks}}})
	q, err := rpc.ReadRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	inside := func(p unsafe.Pointer) bool {
		lo := uintptr(unsafe.Pointer(&body[0]))
		return uintptr(p) >= lo && uintptr(p) < lo+uintptr(len(body))
	}
	for i, p := range q.Pieces {
		dense := p.Blocks[0].Data.(*matrix.Dense[float64])
		cols := p.Blocks[1].Data.(*matrix.Cols[float32])
		if !inside(unsafe.Pointer(&dense.Val[0])) || !inside(unsafe.Pointer(&cols.Idx[0])) ||
			!inside(unsafe.Pointer(&cols.Val[0])) {
			t.Errorf("piece %d: values were copied", i)
		}
	}
	if !inside(unsafe.Pointer(&q.Pieces[0].Cols[0])) {
		t.Error("the columns wanted were copied")
	}
}

// Large values are sent from where they lie.
func TestByReference(t *testing.T) {
	val := make([]float64, 1<<15)
	q := &rpc.Request{Pieces: []rpc.Piece{{Blocks: []matrix.Block{
		{At: matrix.At(0, 1, 0, int64(len(val))), Data: &matrix.Dense[float64]{Val: val}}}}}}
	var g rpc.Gather
	if err := q.Append(&g); err != nil {
		t.Fatal(err)
	}
	if g.Cap() > 1<<10 {
		t.Errorf("%d bytes of own memory for a block of %d", g.Cap(), 8*len(val))
	}
	found := false
	for _, b := range g.Buffers(nil) {
		found = found || unsafe.Pointer(&b[0]) == unsafe.Pointer(&val[0])
	}
	if !found {
		t.Error("the values were copied")
	}
}

func TestResponse(t *testing.T) {
	pieces := append(rpctest.Sample().Pieces, rpc.Piece{Blocks: rpctest.Blocks()})
	for name, r := range map[string]*rpc.Response{
		"empty":   {},
		"pieces":  {Clock: -1, Pieces: pieces},
		"results": {Results: []rpc.Result{{Matrix: "w", Part: -7, Data: []byte("12345")}, {}, {Matrix: "abcdefgh"}}},
	} {
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

func TestRequestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := &rpc.Request{
			Op:      rpc.Op(rapid.Uint8().Draw(t, "op")),
			Job:     rapid.String().Draw(t, "job"),
			Version: rapid.Int64().Draw(t, "version"),
			Task:    rapid.Int32().Draw(t, "task"),
			Clock:   rapid.Int32().Draw(t, "clock"),
			Tick:    rapid.Bool().Draw(t, "tick"),
			Seq:     rapid.Uint64().Draw(t, "seq"),
			Func:    rapid.String().Draw(t, "func"),
		}
		if arg := rapid.SliceOf(rapid.Byte()).Draw(t, "arg"); len(arg) > 0 {
			q.Arg = arg
		}
		for range rapid.IntRange(0, 3).Draw(t, "pieces") {
			p := rpc.Piece{Matrix: rapid.String().Draw(t, "matrix"), Cols: rapid.SliceOf(rapid.Int64()).Draw(t, "cols")}
			for range rapid.IntRange(0, 3).Draw(t, "blocks") {
				p.Blocks = append(p.Blocks, rapid.SampledFrom(rpctest.Blocks()).Draw(t, "block"))
			}
			q.Pieces = append(q.Pieces, p)
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

func TestDamaged(t *testing.T) {
	body := aligned(t, rpctest.Sample())
	for _, c := range []struct {
		name string
		at   int
		set  []byte
		want string
	}{
		{"flags", 1, []byte{4}, "at byte 1: flags"},
		{"sequence", 48, make([]byte, 8), "sequence number is 0"},
		{"reserved", 2, []byte{1}, "at byte 2: reserved"},
		{"pieces", 36, []byte{255, 255, 255, 255}, "number of pieces is 4294967295"},
		{"argument", 40, []byte{255, 255, 255, 255}, "argument needs 4294967295 bytes"},
		{"job", 44, []byte{1, 16}, "job's name is 4097, want 0..4096"},
		{"columns", 64 + 40, []byte{255, 255, 255, 255, 255, 255, 255, 255}, "number of columns is -1"},
		{"many columns", 64 + 40, []byte{255, 255, 255, 255, 255, 255, 255, 15}, "number of columns is"},
		{"blocks", 64 + 4, []byte{255, 255, 255, 255}, "number of blocks is 4294967295"},
		{"shift", 64 + 80 + 4, []byte{1}, "block shift is 1"},
		{"block size", 64 + 80, []byte{255, 255}, "block needs 65535 bytes"},
		{"block type", 64 + 80 + 6 + 24, []byte{9}, "at byte 174: block: block type 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(body)
			copy(b[c.at:], c.set)
			_, err := rpc.ReadRequest(b)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	if _, err := rpc.ReadRequest(append(bytes.Clone(body), 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
}

func TestTooLong(t *testing.T) {
	long := strings.Repeat("n", rpc.NameLimit+1)
	var g rpc.Gather
	for name, m := range map[string]message{
		"job":      &rpc.Request{Job: long},
		"function": &rpc.Request{Func: long},
		"matrix":   &rpc.Request{Pieces: []rpc.Piece{{Matrix: long}}},
		"result":   &rpc.Response{Results: []rpc.Result{{Matrix: long}}},
	} {
		if err := m.Append(&g); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("%s: got %v, want %v", name, err, rpc.ErrTooLarge)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(aligned(f, rpctest.Sample()))
	f.Add(aligned(f, &rpc.Request{}))
	f.Add(aligned(f, &rpc.Request{Pieces: []rpc.Piece{{Blocks: rpctest.Blocks()}}}))
	f.Fuzz(func(t *testing.T, body []byte) {
		if q, err := rpc.ReadRequest(body); err == nil {
			again(t, q, func(b []byte) (any, error) { return rpc.ReadRequest(b) })
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add(aligned(f, &rpc.Response{Pieces: rpctest.Sample().Pieces}))
	f.Add(aligned(f, &rpc.Response{Results: []rpc.Result{{Matrix: "w", Data: []byte{1}}, {Part: 2}}}))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := rpc.ReadResponse(body); err == nil {
			again(t, r, func(b []byte) (any, error) { return rpc.ReadResponse(b) })
		}
	})
}

func FuzzFault(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0, 'n', 'o', 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		if fault, err := rpc.ReadFault(body, "x"); err == nil && len(fault.Text) > len(body) {
			t.Errorf("%d bytes of text in %d", len(fault.Text), len(body))
		}
	})
}

// again writes what was read and reads it again: the bytes of both are the same. (Values are not compared, as some are
// not a number.)
func again(t *testing.T, m message, read func([]byte) (any, error)) {
	body := aligned(t, m)
	second, err := read(body)
	if err != nil {
		t.Fatalf("what was read and written is not read again: %v", err)
	}
	if !bytes.Equal(aligned(t, second.(message)), body) {
		t.Error("written twice, the bytes differ")
	}
}

// The sample has something in every field, so that the tests of echo notice a field that does not cross the wire.
func TestSample(t *testing.T) {
	q := rpctest.Sample()
	for _, v := range []any{*q, q.Pieces[0]} {
		r := reflect.ValueOf(v)
		for i := range r.NumField() {
			if r.Field(i).IsZero() {
				t.Errorf("%T: the sample has nothing in %s", v, r.Type().Field(i).Name)
			}
		}
	}
}
