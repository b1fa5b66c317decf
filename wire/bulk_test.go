package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

type half uint16 // a type defined on a number

func TestBulk(t *testing.T) {
	t.Run("i8", rapid.MakeCheck(bulk[int8]))
	t.Run("u8", rapid.MakeCheck(bulk[uint8]))
	t.Run("i16", rapid.MakeCheck(bulk[int16]))
	t.Run("half", rapid.MakeCheck(bulk[half]))
	t.Run("i32", rapid.MakeCheck(bulk[int32]))
	t.Run("u32", rapid.MakeCheck(bulk[uint32]))
	t.Run("i64", rapid.MakeCheck(bulk[int64]))
	t.Run("u64", rapid.MakeCheck(bulk[uint64]))
	t.Run("f32", rapid.MakeCheck(bulk[float32]))
	t.Run("f64", rapid.MakeCheck(bulk[float64]))
}

// bulk holds Put, Get, Swap, View and ViewAny to what encoding/binary says.
func bulk[T Number](t *rapid.T) {
	v := make([]T, rapid.IntRange(0, 9).Draw(t, "length"))
	for i := range v {
		v[i] = T(rapid.Int64().Draw(t, "value"))
	}
	size := binary.Size(v)
	for name, o := range orders {
		var want bytes.Buffer
		if err := binary.Write(&want, o, v); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, size+3)
		Put(got, v, o)
		if !bytes.Equal(got[:size], want.Bytes()) || !bytes.Equal(got[size:], make([]byte, 3)) {
			t.Fatalf("put %s %v: % x, want % x", name, v, got, want.Bytes())
		}
		back := make([]T, len(v))
		Get(back, got[:size], o)
		if !bytes.Equal(View(back), View(v)) {
			t.Fatalf("get %s: %v, want %v", name, back, v)
		}
		if len(v) == 0 {
			continue
		}
		Swap(got[:size], size/len(v), o)
		if !bytes.Equal(got[:size], View(v)) {
			t.Fatalf("swap %s: % x, want % x", name, got[:size], View(v))
		}
	}
	view, each := ViewAny(v)
	if !bytes.Equal(view, View(v)) || each != binary.Size(*new(T)) {
		t.Fatalf("view of %v: % x, %d bytes each", v, view, each)
	}
	if len(v) > 0 {
		view[0] ^= 1
		if !bytes.Equal(view, View(v)) {
			t.Fatal("the view is a copy")
		}
	}
}

func TestNumbersAlignment(t *testing.T) {
	words := make([]uint64, 4)
	b := View(words) // begins at a multiple of 8
	for off := range 8 {
		for n := range 17 {
			part := b[off : off+n]
			v8, ok8 := Numbers[uint64](part)
			v4, ok4 := Numbers[float32](part)
			v1, ok1 := Numbers[uint8](part)
			if ok8 != (n == 0 || off%8 == 0 && n%8 == 0) || ok8 && len(v8) != n/8 {
				t.Errorf("u64 of %d bytes at %d: %v, %v", n, off, v8, ok8)
			}
			if ok4 != (n == 0 || off%4 == 0 && n%4 == 0) || ok4 && len(v4) != n/4 {
				t.Errorf("f32 of %d bytes at %d: %v, %v", n, off, v4, ok4)
			}
			if !ok1 || len(v1) != n {
				t.Errorf("u8 of %d bytes at %d: %v, %v", n, off, v1, ok1)
			}
		}
	}
	v, _ := Numbers[uint64](b[8:24])
	v[1] = math.MaxUint64
	if words[2] != math.MaxUint64 {
		t.Error("the numbers are a copy")
	}
}

func TestNumbersAnywhere(t *testing.T) {
	b := make([]byte, 40)
	for i := range b {
		b[i] = byte(i)
	}
	for off := range 16 {
		for n := range 17 {
			v, ok := NumbersAnywhere[uint64](b[off : off+n])
			if want := n%8 == 0 && (LoadsAnywhere || n == 0 || off%8 == 0); ok != want || ok && len(v) != n/8 {
				t.Errorf("%d bytes at %d: %v, %v", n, off, v, ok)
			}
			for i, got := range v {
				if want := binary.NativeEndian.Uint64(b[off+8*i:]); got != want {
					t.Errorf("%d bytes at %d: value %d is %x, want %x", n, off, i, got, want)
				}
			}
		}
	}
}

func TestViewAnyOfOtherThings(t *testing.T) {
	for _, v := range []any{nil, 7, "text", []string{"a"}, []bool{true}, []any{1}, [2]int8{}, []struct{ a int8 }{{1}}, []*int{nil}} {
		if b, size := ViewAny(v); b != nil || size != 0 {
			t.Errorf("%T is %d bytes of %d each, want nothing: only numbers of a fixed width have a view", v, len(b), size)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	v := make([]float32, 1<<16)
	dst := make([]byte, len(v)*4)
	for name, o := range orders {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				Put(dst, v, o)
			}
		})
	}
}

func ExampleCursor() {
	c := NewCursor([]byte{3, 0, 0, 0, 1, 2}, 40, Little)
	n := c.Count(int64(c.U32("number of ids")), 1, 1000, "number of ids")
	fmt.Println(n, c.Err())
	// Output: 0 at byte 44: number of ids is 3, of 1 bytes each, but 2 bytes remain: input ends too early
}
