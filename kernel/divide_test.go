package kernel

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDivideRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 300).Draw(t, "rows")
		c, _ := codesOf(rapid.Uint64().Draw(t, "seed"), rows, slices.Repeat([]int{256}, rapid.IntRange(1, 9).Draw(t, "narrow")), []int{1 << 16, 300})
		wide := rapid.Bool().Draw(t, "wide")
		at := rapid.IntRange(0, len(c.Narrow)-1).Draw(t, "at")
		if wide {
			at = c.WideAt() + 2*rapid.IntRange(0, 1).Draw(t, "at")
		}
		left := make([]uint8, 1<<16)
		for i := range left {
			left[i] = uint8(Hash(uint64(i)) & 1)
		}
		some := rapid.SliceOfN(rapid.Uint32Range(0, uint32(rows-1)), 0, 200).Draw(t, "some")
		var goes, others []uint32
		for _, r := range some {
			code := int(c.Row(int(r))[at])
			if wide {
				code |= int(c.Row(int(r))[at+1]) << 8
			}
			if left[code] == 1 {
				goes = append(goes, r)
			} else {
				others = append(others, r)
			}
		}
		for _, on := range []level{plain, machine} {
			got, rest := slices.Clone(some), make([]uint32, len(some))
			l, is := divideRowsOn(on, got, rest, c, at, wide, left)
			if !is {
				l = divideRows(got, rest, c, at, wide, left)
			}
			if !slices.Equal(got[:l], goes) || !slices.Equal(rest[:len(some)-l], others) {
				t.Fatalf("level %v: %d go left: %v, others %v; want %v and %v", on, l, got[:l], rest[:len(some)-l], goes, others)
			}
		}
	})
}

func BenchmarkDivideRows(b *testing.B) {
	const rows = 1 << 20
	c, _ := codesOf(1, rows, slices.Repeat([]int{255}, 28), nil)
	left, rest := make([]uint8, 1<<8), make([]uint32, rows)
	for i := range left {
		left[i] = uint8(i & 1)
	}
	for _, every := range []int{1, 4, 30} {
		var some []uint32
		for r := 0; r < rows; r += every {
			some = append(some, uint32(r))
		}
		for name, on := range map[string]level{"plain": plain, "machine": machine} {
			b.Run(fmt.Sprintf("every=%d/%s", every, name), func(b *testing.B) {
				keep := slices.Clone(some)
				for b.Loop() {
					copy(some, keep)
					if _, is := divideRowsOn(on, some, rest, c, 3, false, left); !is {
						divideRows(some, rest, c, 3, false, left)
					}
				}
				copy(some, keep)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(some)), "ns/row")
			})
		}
	}
}

// What does not fit panics before anything is read: the assembly would read beyond it.
func TestDivideRowsRefuses(t *testing.T) {
	c, _ := codesOf(1, 9, []int{256}, []int{300})
	left, rows := make([]uint8, 1<<16), []uint32{8}
	for what, divide := range map[string]func(){
		"a group beyond the row":  func() { DivideRows(rows, make([]uint32, 1), c, c.Stride, false, left) },
		"half a group in the row": func() { DivideRows(rows, make([]uint32, 1), c, c.Stride-1, true, left) },
		"too few sides":           func() { DivideRows(rows, make([]uint32, 1), c, 0, false, left[:255]) },
		"too few sides of a wide": func() { DivideRows(rows, make([]uint32, 1), c, c.WideAt(), true, left[:1<<16-1]) },
		"no room for other rows":  func() { DivideRows(rows, nil, c, 0, false, left) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			divide()
		}()
	}
}
