package arrow

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"thole.example/format"
	"thole.example/matrix"
)

// packedBytes is the buffer as a file holds it.
func packedBytes(t *testing.T, packing int8, raw []byte) []byte {
	t.Helper()
	p, err := newPacker(packing)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.pack(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnpackStream reads compressed buffers forward, backward and at random, at once and while they are unpacked.
func TestUnpackStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, 1<<20)
	for i := range raw {
		raw[i] = byte(i>>9) ^ byte(rng.IntN(2))
	}
	for _, packing := range []int8{zstd, lz4} {
		file := packedBytes(t, packing, raw)
		for _, want := range []int64{1, 100, 1 << 18, int64(len(raw)) - 100, int64(len(raw))} {
			for _, whole := range []int64{0, 1 << 10, 1 << 30} {
				p, err := header(bytes.NewReader(file), 0, int64(len(file)), packing, want)
				if err != nil {
					t.Fatal(err)
				}
				var u unpacker
				b, held, err := u.unpacked(p, want, whole)
				if err != nil || held <= 0 || want > whole && held > 64<<20 {
					t.Fatalf("%s, %d of %d: holds %d, %v", packings[packing], want, whole, held, err)
				}
				for at, i := int64(0), 0; i < 24; i++ {
					n := 1 + rng.Int64N(min(want, 1<<17))
					switch i % 4 {
					case 0:
						at = rng.Int64N(want)
					case 1:
						at = max(0, at-8)
					}
					n = min(n, want-at)
					got := make([]byte, n)
					if _, err := b.r.ReadAt(got, b.off+at); err != nil || !bytes.Equal(got, raw[at:at+n]) {
						t.Fatalf("%s, %d of %d: %d bytes at %d: %v", packings[packing], want, whole, n, at, err)
					}
					at += n
					if at == want {
						at = 0
					}
				}
				u.close()
			}
		}
		for what, damage := range map[string]func([]byte) []byte{
			"longer than it says": func(f []byte) []byte { f[0]--; return f },
			"cut":                 func(f []byte) []byte { return f[:len(f)-40] },
		} {
			f := damage(bytes.Clone(file))
			for _, whole := range []int64{0, 1 << 30} {
				want := int64(len(raw)) - 1
				p, err := header(bytes.NewReader(f), 0, int64(len(f)), packing, want)
				if err != nil {
					t.Fatal(err)
				}
				var u unpacker
				b, _, err := u.unpacked(p, want, whole)
				if err == nil {
					_, err = b.r.ReadAt(make([]byte, want), b.off)
				}
				if !errors.Is(err, format.ErrCorrupt) {
					t.Errorf("%s, %s, whole %d: %v, want ErrCorrupt", packings[packing], what, whole, err)
				}
				u.close()
			}
		}
	}
}

// TestUnpackMemory reads record batches whose buffers unpack to much more than the file has: they are held by shares.
func TestUnpackMemory(t *testing.T) {
	const rows, columns = 8 << 20, 8
	buffer := packedBytes(t, zstd, make([]byte, rows*8))
	for len(buffer)%8 != 0 {
		buffer = append(buffer, 0)
	}
	var fields [][]val
	var nodes, buffers []int64
	var body []byte
	for i := range columns {
		fields = append(fields, newNumber(string(rune('a'+i)), matrix.F64))
		nodes = append(nodes, rows, 0)
		buffers = append(buffers, int64(len(body)), 0, int64(len(body)), int64(len(buffer)))
		body = append(body, buffer...)
	}
	file := stream(0, fields, []val{{slot: 0, v: int64(rows)}, {slot: 1, each: 2, v: nodes}, {slot: 2, each: 2, v: buffers}, packed(uint8(zstd))}, body)
	b := bucketOf(t, file)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table, err := codec{}.OpenTable(t.Context(), b, "a.arrow", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	all := make([]int, columns)
	for i := range all {
		all[i] = i
	}
	seen := 0
	for batch, err := range table.Batches(t.Context(), all, matrix.Range{Hi: rows}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen += batch.Rows; seen > rows/2 && during.HeapAlloc == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
		}
	}
	if used := int64(during.HeapAlloc) - int64(before.HeapAlloc); seen != rows || used > 160<<20 {
		t.Errorf("%d rows, %d bytes held, want %d rows and at most 160 MiB", seen, used, rows)
	}
	s := cellSource{held: heldLimit - 1}
	if err := s.hold(2); !errors.Is(err, format.ErrLimit) {
		t.Errorf("more than the limit: %v", err)
	}
}
