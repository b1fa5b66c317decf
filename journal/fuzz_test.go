package journal

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// FuzzOpen: a log of any bytes is refused or opened, at the same place by the next one, and goes on there. With sums the
// checksums of what could be heads and bodies are made right.
func FuzzOpen(f *testing.F) {
	m := newMachine(1)
	sample(f, m, Options{Segment: 1})
	one, two := m.names["00000000000000000040.log"].now, m.names["00000000000000000088.log"].now
	f.Add(one, two, uint64(88), false)
	f.Add(one[:100], two, uint64(88), true)
	f.Add(one, append(two[:160:160], make([]byte, 4096)...), uint64(88), true)
	f.Add(one, []byte{}, uint64(40), true)
	f.Add(two, one, uint64(0), false)
	f.Fuzz(func(t *testing.T, a, b []byte, first uint64, sums bool) {
		m := newMachine(1)
		for i, bytes := range [][]byte{a, b} {
			s := &segment{first: []uint64{40, first}[i]}
			bytes = slices.Clone(bytes)
			if sums {
				mend(bytes)
			}
			if i == 0 || first != 40 {
				m.names[s.name()] = &inode{now: bytes, disk: slices.Clone(bytes), dirty: map[int64]bool{}}
			}
		}
		l, err := Open(m.start("", 0), Options{Segment: 1000})
		if err != nil {
			return
		}
		before := all(t, l, l.First())
		before = append(before, "")
		end, err := l.Append(t.Context(), [][]byte{[]byte("more")}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Wait(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, err = Open(m.start("", 0), Options{Segment: 1000})
		if err != nil {
			t.Fatalf("a log that was opened is refused: %v", err)
		}
		after := all(t, l, l.First())
		if n := len(before); len(after) != n || !slices.Equal(after[:n-1], before[:n-1]) || l.End() != end {
			t.Fatalf("%q up to %d, want %q and one more up to %d", after, l.End(), before[:n-1], end)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// mend makes the checksums right of a segment and of the records that follow each other in it.
func mend(b []byte) {
	if len(b) < segmentHead {
		return
	}
	le := binary.LittleEndian
	copy(b, magic)
	le.PutUint32(b[8:], version)
	seed := seedOf(string(slices.Clone(trimmed(b[40:96]))))
	le.PutUint32(b[12:], crc32.Update(seed, castagnoli(), b[16:segmentHead]))
	for at := segmentHead; at+recordHead <= len(b); {
		n := int(le.Uint32(b[at+16:]))
		if n <= len(b)-at-recordHead {
			le.PutUint32(b[at+4:], crc32.Update(seed, castagnoli(), b[at+recordHead:][:n]))
		}
		le.PutUint32(b[at:], crc32.Update(seed, castagnoli(), b[at+4:at+recordHead]))
		if n > len(b)-at {
			return
		}
		at += padded(n)
	}
}

func trimmed(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// Heads are read as they were written, and no others are taken for them.
func TestHeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching("[a-z]{1,56}").Draw(t, "identity")
		h := head{n: rapid.Uint32Range(0, BodyLimit).Draw(t, "n"), kind: rapid.Uint32().Draw(t, "kind"),
			sum: rapid.Uint32().Draw(t, "sum"), position: rapid.Uint64Range(0, positionLimit).Draw(t, "position")}
		h.synced = rapid.Uint64Range(0, h.position).Draw(t, "synced")
		b := make([]byte, recordHead)
		h.put(b, seedOf(id))
		if got, err := decodeHead(b, 0, h.position, seedOf(id)); got != h || err != nil {
			t.Fatalf("%+v, %v, want %+v", got, err, h)
		}
		if got, err := decodeHead(b, 0, h.position, seedOf(id+"x")); err == nil {
			t.Fatalf("%+v of another log", got)
		}
		if got, err := decodeHead(b, 0, h.position+1, seedOf(id)); err == nil {
			t.Fatalf("%+v of another position", got)
		}
		s := label{first: h.position, synced: h.synced, previous: rapid.Uint64Range(0, h.position).Draw(t, "previous"), identity: id}
		if got, err := decodeLabel(s.bytes(), h.position); got != s || err != nil {
			t.Fatalf("%+v, %v, want %+v", got, err, s)
		}
	})
}
