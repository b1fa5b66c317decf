package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// levels are those that this machine has.
func levels() []level {
	all := []level{plain}
	for l := plain + 1; l <= machine; l++ {
		all = append(all, l)
	}
	return all
}

// TestHashSpreads: keys that are equal in some of their bits, or in arithmetic progression, fill the places of an index and
// the partitions by the top bits evenly.
func TestHashSpreads(t *testing.T) {
	const keys, places = 1 << 16, 1 << 8
	for name, key := range map[string]func(i uint64) uint64{
		"counting": func(i uint64) uint64 { return i }, "equal mod 2^32": func(i uint64) uint64 { return i<<32 + 5 },
		"equal mod 2^48": func(i uint64) uint64 { return i << 48 }, "from the top": func(i uint64) uint64 { return math.MaxUint64 - i },
		"odd step": func(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 }, "step 1000": func(i uint64) uint64 { return 1000 * i },
		"powers": func(i uint64) uint64 { return 1<<(i%61) + i>>6<<20 },
	} {
		for _, shift := range []int{0, 4, 13} {
			var count [places]int
			seen := map[uint64]bool{}
			for i := range uint64(keys) {
				h := Hash(key(i))
				seen[h] = true
				count[h<<shift>>56]++
			}
			chi, mean := 0.0, float64(keys)/places
			for _, n := range count {
				chi += (float64(n) - mean) * (float64(n) - mean) / mean
			}
			// Chi squared with 255 degrees of freedom: mean 255, deviation 22.6; 400 is beyond six deviations.
			if chi > 400 && name != "powers" {
				t.Errorf("%s, bits from %d on: chi squared is %.0f, want about 255", name, shift, chi)
			}
			if name == "powers" && slices.Max(count[:]) > 2*keys/places {
				t.Errorf("%s, bits from %d on: a place has %d keys, want about %d", name, shift, slices.Max(count[:]), keys/places)
			}
		}
	}
}

// TestHashValues: the hash chooses partitions and the order of what is saved, so it must never change. The values come from
// integers of any length in another language.
func TestHashValues(t *testing.T) {
	for key, want := range map[uint64]uint64{
		0x0:                0x0,
		0x1:                0x4179b061e0c0e0d0,
		0x2:                0x1c9963305febc252,
		0x8000000000000000: 0x72446bbcf6c799d7,
		0xffffffffffffffff: 0x448e29ced4103459,
		0x123456789abcdef:  0x3efdea49c590f4ec,
	} {
		if got := Hash(key); got != want {
			t.Errorf("hash of %x is %x, want %x", key, got, want)
		}
	}
}

// TestSpreadAscends: the line ascends with the hash, before, during and after growth, and never moves left.
func TestSpreadAscends(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		lines := 1 + r.Uint64N(1<<(1+r.IntN(20)))
		old := Spread{Bits: uint64(r.IntN(8)), Lines: lines, Wide: lines, From: 1 << 32}
		s := old
		s.Wide, s.From = lines+r.Uint64N(lines+1), r.Uint64N(1<<32+1)
		hashes := make([]uint64, 100)
		for i := range hashes {
			hashes[i] = r.Uint64() >> s.Bits // the top bits are the same in a partition
		}
		slices.Sort(hashes)
		last := uint32(0)
		for _, h := range hashes {
			line := s.Line(h)
			if line < last || line < old.Line(h) || uint64(line) >= s.Wide {
				t.Fatalf("%+v: line %d of hash %x after %d, %d before", s, line, h, last, old.Line(h))
			}
			last = line
		}
	}
}

// TestSearch holds every level to the plain search, with full lines, absent keys, the key 0 and any number of keys.
func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := Spread{Bits: 3, Lines: 40, Wide: 45, From: 1 << 31}
	lines, rows, slab := make([]Line, 60), map[int64]uint32{}, make([]byte, 2000)
	for i := range 190 {
		key := int64(r.Uint64())
		if i == 100 {
			key = 0
		}
		line := s.Line(Hash(uint64(key)))
		for lines[line].Full() {
			line++
		}
		at := lines[line].Taken()
		lines[line].Key[at], lines[line].Row[at] = uint64(key), uint32(i+1)
		rows[key] = uint32(i + 1)
	}
	keys := []int64{0, 1, -1, math.MinInt64}
	for key := range rows {
		keys = append(keys, key, key+1)
	}
	for _, on := range levels() {
		for n := range len(keys) {
			some := keys[len(keys)-n:]
			at, got := make([]uint32, n), make([]uint32, n)
			if n == 0 {
				continue
			}
			locateOn(on, &s, some, at)
			f := Finder{asm: newFinding(nil, slab, 8<<(n%2*4), n%200)} // rows of 8 bytes, or of two lines
			missing, want := f.find(on, lines, some, at, got, at[n/2:]), 0
			for i, key := range some {
				if line := s.Line(Hash(uint64(key))); at[i] != line || got[i] != rows[key] {
					t.Fatalf("level %d: key %d in line %d with row %d, want line %d, row %d", on, key, at[i], got[i], line, rows[key])
				}
				if rows[key] == 0 {
					want++
				}
			}
			if missing != want {
				t.Fatalf("level %d: %d keys missing, want %d", on, missing, want)
			}
		}
	}
	for _, key := range []int64{0, 7} { // an empty index has neither
		var at, row [1]uint32
		for _, on := range levels() {
			if new(Finder).find(on, make([]Line, 3), []int64{key}, at[:], row[:], nil) != 1 || row[0] != 0 {
				t.Errorf("level %d: key %d is found in an empty index", on, key)
			}
		}
	}
}

// TestWithin holds every level to the hash of one key: keys outside of the columns or of another partition at any place, and none.
func TestWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, on := range levels() {
		for range 2000 {
			lo, hi := int64(r.Uint64())>>r.IntN(64), int64(r.Uint64())>>r.IntN(64)
			if lo > hi {
				lo, hi = hi, lo
			}
			bits, n := r.IntN(6), r.IntN(40)
			top := r.Uint64N(1 << bits)
			is := func(key int64) bool { return key >= lo && key < hi && Hash(uint64(key))>>(64-bits) == top }
			var keys []int64
			for tries := 0; len(keys) < n && tries < 5000; tries++ {
				if key := lo + int64(r.Uint64N(max(1, uint64(hi-lo)))); is(key) {
					keys = append(keys, key)
				}
			}
			want := len(keys)
			if len(keys) > 0 && r.IntN(4) > 0 {
				at := r.IntN(len(keys))
				keys[at] = []int64{lo - 1, hi, int64(r.Uint64()), keys[at] ^ 1<<62}[r.IntN(4)]
				if !is(keys[at]) {
					want = at
				}
			}
			if got := within(on, keys, lo, hi, bits, top); got != want {
				t.Fatalf("level %d: %d of %d keys within [%d, %d), top %d of %d bits, want %d", on, got, len(keys), lo, hi, top, bits, want)
			}
			hash := make([]uint64, len(keys))
			hashes(on, hash, keys)
			for i, key := range keys {
				if hash[i] != Hash(uint64(key)) {
					t.Fatalf("level %d: hash of %x is %x, want %x", on, key, hash[i], Hash(uint64(key)))
				}
			}
		}
	}
}

// TestFindNext: rows are counted from the first key on, and are 0 below and beyond, to the ends of what an int64 can be.
func TestFindNext(t *testing.T) {
	keys := []int64{math.MinInt64, -1, 0, 4, 5, 6, 7, 8, 9, 10, math.MaxInt64 - 2, math.MaxInt64 - 1, math.MaxInt64, 7, 5, 9, 1 << 32, 5 + 1<<32, 8}
	for _, c := range []struct {
		lo, n int64
		want  []uint32
	}{
		{5, 4, []uint32{0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 4}},
		{0, 10, []uint32{0, 0, 1, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 8, 6, 10, 0, 0, 9}},
		{math.MaxInt64 - 1, 1, []uint32{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
		{math.MinInt64, 2, []uint32{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{5, 0, make([]uint32, len(keys))},
	} {
		for _, on := range levels() {
			for n := range len(keys) + 1 {
				rows := slices.Repeat([]uint32{99}, n+1)
				findNext(on, c.lo, c.n, keys[:n], rows)
				if !slices.Equal(rows[:n], c.want[:n]) || rows[n] != 99 {
					t.Errorf("level %d, keys from %d: rows %v, want %v", on, c.lo, rows, c.want[:n])
				}
			}
		}
	}
}

// TestStamps: every level stamps the slots of the keys that it finds, and no others, and finds what it finds without.
func TestStamps(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	s := Spread{Lines: 40, Wide: 40, From: 1 << 32}
	for _, on := range levels() {
		lines, want := make([]Line, 60), map[int64]uint8{}
		for range 150 {
			key := int64(r.Uint64() | 1)
			line := s.Line(Hash(uint64(key)))
			for lines[line].Full() {
				line++
			}
			l := &lines[line]
			i := l.Taken()
			want[key] = uint8(r.UintN(1 << StampBits))
			l.Key[i], l.Row[i] = uint64(key), 7
			l.SetStamp(i, want[key])
		}
		for range 50 {
			v, keys := uint8(r.UintN(1<<StampBits)), []int64{2, 4}
			for key := range want {
				if r.UintN(8) == 0 {
					keys, want[key] = append(keys, key), v
				}
			}
			at, rows, stamp := make([]uint32, len(keys)), make([]uint32, len(keys)), NewStamp(v)
			locateOn(on, &s, keys, at)
			f := Finder{&stamp, newFinding(&stamp, nil, 0, 0)}
			if missing := f.find(on, lines, keys, at, rows, nil); missing != 2 {
				t.Fatalf("level %d: %d keys missing, want 2", on, missing)
			}
			for _, l := range lines {
				var set uint64
				for i := range Slots {
					if set |= 1 << l.Stamp(i); i < l.Taken() && l.Stamp(i) != want[int64(l.Key[i])] {
						t.Fatalf("level %d: key %d has stamp %d, want %d", on, l.Key[i], l.Stamp(i), want[int64(l.Key[i])])
					}
				}
				if one := uint64(1) << r.UintN(64); l.HasStamp(one) != (set&one != 0) || l.HasStamp(^set) {
					t.Fatalf("a line with the stamps %#x: it has one of %#x: %v, of the others: %v", set, one, l.HasStamp(one), l.HasStamp(^set))
				}
			}
		}
	}
}

// TestGather holds every level to plain copies; bytes after the last row are not touched, and Scatter is the way back.
func TestGather(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, size := range []int{4, 8, 12, 16, 28, 32, 36, 60, 64, 68, 96, 128, 260} {
		for _, stride := range []int{size, size + 4, size + 64} {
			slab := make([]byte, 20*stride)
			for i := range slab {
				slab[i] = byte(r.Uint32())
			}
			for _, on := range levels() {
				for n := 1; n < 9; n++ {
					rows, want := make([]uint32, n), []byte{}
					for i := range rows {
						rows[i] = uint32(r.IntN(20))
						want = append(want, slab[int(rows[i])*stride:][:size]...)
					}
					got := make([]byte, n*size+8)
					fetchOn(on, slab, stride, size, rows)
					gatherOn(on, got[:n*size], slab, stride, size, rows)
					if !slices.Equal(got[:n*size], want) || !slices.Equal(got[n*size:], make([]byte, 8)) {
						t.Fatalf("level %d: %d rows of %d bytes differ", on, n, size)
					}
					other := make([]byte, len(slab))
					Scatter(want, other, stride, size, rows)
					for _, row := range rows {
						if !slices.Equal(other[int(row)*stride:][:size], slab[int(row)*stride:][:size]) {
							t.Fatalf("row %d of %d bytes is not scattered", row, size)
						}
					}
				}
			}
		}
	}
	Gather(nil, nil, 4, 4, nil)
	Fetch(nil, 4, 4, nil)
}

// TestMemory grows from nothing through the heap into mapped memory and beyond the first addresses: what was written stays,
// the rest is zero, and all begins at a line of the cache.
func TestMemory(t *testing.T) {
	var m Memory
	written := []int{}
	for n := 10; n < 200<<20; n = n*3 + 7 {
		if err := m.Grow(n); err != nil {
			t.Fatal(err)
		}
		d := m.Data()
		if len(d) < n || len(Lines(d)) != len(d)/64 || m.Resident(n) < n {
			t.Fatalf("%d bytes, %d lines, %d resident, want %d bytes", len(d), len(Lines(d)), m.Resident(n), n)
		}
		for i, at := range written {
			if d[at] != byte(i+1) {
				t.Fatalf("after growing to %d byte %d is %d, want %d", n, at, d[at], i+1)
			}
		}
		if d[n-1] != 0 || d[n/2] != 0 {
			t.Fatal("new bytes are not zero")
		}
		d[n-1] = byte(len(written) + 1)
		written = append(written, n-1)
		m.Ready(n/2, n, len(written)%2 == 0)
	}
	if err := m.Grow(5); err != nil {
		t.Fatal(err)
	}
	m.Free()
	m.Free()
	if len(m.Data()) != 0 || len(Lines(m.Data())) != 0 {
		t.Error("memory that was freed is there")
	}
}
