package spill

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"thole.example/blockio"
	"thole.example/matrix"
)

func TestClasses(t *testing.T) {
	last := int64(0)
	for n := int64(0); n < 1<<20; n += max(1, n/1000) {
		c := classOf(n)
		if c < n || c%64 != 0 || c < last || n > 512 && (c-n)*8 > n || n <= 512 && c-n >= 64 {
			t.Fatalf("%d bytes are in the class of %d", n, c)
		}
		if classOf(c) != c {
			t.Fatalf("a full slot of %d is in the class of %d", c, classOf(c))
		}
		last = c
	}
	for _, n := range []int64{0, 64, 512, 4096, 1 << 20, 1 << 40} {
		if classOf(n) != n {
			t.Errorf("%d bytes are in the class of %d", n, classOf(n))
		}
	}
}

// Changing blocks does not make files grow, and deleting them gives files back.
func TestSlotsAreUsedAgain(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Segment: 4096})
	for i := range 20 {
		put(t, s, i, 100, int64(i))
	}
	full := s.Stats()
	if full.Segments != 5 || full.Disk != 20*(128+832) {
		t.Fatalf("%+v, want 4 slots in each of 5 segments", full)
	}
	for round := range 5 {
		for i := range 20 {
			key, _ := row(i, 100, 0)
			err := s.Update(key, func(b *matrix.Block) error {
				b.Data.Values().([]int64)[0]++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if st := s.Stats(); st.Segments != 5 || st.Disk != full.Disk {
			t.Fatalf("round %d: %+v, want the same slots", round, st)
		}
	}
	for i := range 20 {
		key, _ := row(i, 100, 0)
		if i%4 != 0 {
			s.Delete(key)
		}
	}
	if st := s.Stats(); st.Segments != 5 {
		t.Fatalf("%+v, want all segments, with a block in each", st)
	}
	for i := range 15 {
		put(t, s, 100+i, 100, 1)
	}
	if st := s.Stats(); st.Segments != 5 {
		t.Fatalf("%+v, want free slots used again", st)
	}
	for _, k := range s.Keys() {
		s.Delete(k)
	}
	if st := s.Stats(); st.Segments != 0 || st.Disk != 0 {
		t.Fatalf("%+v, want no file", st)
	}
	audit(t, s)
}

// Whatever byte of a record is turned, the block does not come back as something else.
func TestDamage(t *testing.T) {
	for name, noMap := range ways {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), NoMap: noMap})
			key := put(t, s, 0, 10, 7)
			rec := s.entries[key].rec
			raw := make([]byte, rec.len())
			if _, err := rec.seg.file.ReadAt(raw, rec.off); err != nil {
				t.Fatal(err)
			}
			for i := range raw {
				flip(t, rec, raw, i)
				wantDamage(t, s, key, rec)
				flip(t, rec, raw, i)
			}
			wantRow(t, s, key, 10, 7)
			flip(t, rec, raw, 200)
			put(t, s, 0, 10, 8) // a new block takes the place of a damaged one
			wantRow(t, s, key, 10, 8)
			flip(t, s.entries[key].rec, make([]byte, 1000), 200)
			if err := s.Delete(key); err != nil {
				t.Error(err)
			}
			audit(t, s)
		})
	}
}

func flip(t *testing.T, rec record, raw []byte, i int) {
	t.Helper()
	raw[i] ^= 0x10
	if _, err := rec.seg.file.WriteAt(raw[i:i+1], rec.off+int64(i)); err != nil {
		t.Fatal(err)
	}
}

// wantDamage asks in all ways.
func wantDamage(t *testing.T, s *Store, key Key, rec record) {
	t.Helper()
	_, get := s.Get(key)
	called := errors.New("called with damaged bytes")
	for way, err := range map[string]error{
		"get":    get,
		"view":   s.View(key, func(matrix.Block) error { return called }),
		"update": s.Update(key, func(*matrix.Block) error { return called }),
	} {
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s: %v, want damage", way, err)
		}
		if e.File != rec.seg.file.Name() || e.Off < rec.off || e.Off >= rec.off+rec.len() || e.Key != key {
			t.Fatalf("%s: %v, want the file, a byte of the record and the block", way, err)
		}
		if !strings.Contains(err.Error(), key.String()) {
			t.Fatalf("%s: %v does not name the block", way, err)
		}
	}
}

// A file that lost its end is an error, not the end of the process.
func TestCutFile(t *testing.T) {
	for name, noMap := range ways {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), NoMap: noMap})
			dense := put(t, s, 0, 10000, 7)
			sparse := Key{Name: "csr", At: dense.At}
			b := matrix.Block{At: dense.At, Data: &matrix.CSR[int64]{Ptr: []int{0, 1}, Idx: []int64{9999}, Val: []int64{1}}}
			if err := s.Put(sparse, b); err != nil {
				t.Fatal(err)
			}
			for _, key := range []Key{dense, sparse} {
				rec := s.entries[key].rec
				if err := rec.seg.file.Truncate(0); err != nil {
					t.Fatal(err)
				}
				var e *Error
				if _, err := s.Get(key); !errors.As(err, &e) {
					t.Errorf("get: %v, want an error of the file", err)
				}
				if err := s.View(key, func(matrix.Block) error { return nil }); !errors.As(err, &e) {
					t.Errorf("view: %v, want an error of the file", err)
				}
			}
			audit(t, s)
		})
	}
}

// A record that belongs elsewhere is told from the right one, though its checksum is right.
func TestMisplacedRecord(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	a, b := put(t, s, 0, 10, 1), put(t, s, 1, 10, 2)
	from, to := s.entries[a].rec, s.entries[b].rec
	raw := make([]byte, from.len())
	if _, err := from.seg.file.ReadAt(raw, from.off); err != nil {
		t.Fatal(err)
	}
	if _, err := to.seg.file.WriteAt(raw, to.off); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, s, b, to)
	if err := s.Update(a, func(*matrix.Block) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := from.seg.file.WriteAt(raw, from.off); err != nil { // the block as it was before
		t.Fatal(err)
	}
	wantDamage(t, s, a, s.entries[a].rec)
}

// A disk that is full refuses what is new and loses nothing.
func TestFullDisk(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(s *Store)
		want error
	}{
		{"limit", func(s *Store) { s.disk.limit = s.disk.used }, ErrFull},
		{"system", func(s *Store) {
			s.disk.writeAt = func(_ *os.File, b []byte, _ int64) (int, error) { return len(b) / 2, syscall.ENOSPC }
		}, syscall.ENOSPC},
		{"short write", func(s *Store) {
			s.disk.writeAt = func(_ *os.File, b []byte, _ int64) (int, error) { return len(b) / 2, nil }
		}, io.ErrShortWrite},
	} {
		for name, noMap := range ways {
			t.Run(c.name+" "+name, func(t *testing.T) { fullDisk(t, noMap, c.fill, c.want) })
		}
	}
}

func fullDisk(t *testing.T, noMap bool, fill func(*Store), want error) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 1600, Segment: 3000, NoMap: noMap})
	for i := range 6 {
		put(t, s, i, 100, int64(i))
	}
	before := s.Stats()
	fill(s)
	for i, n := range []int{100, 100, 1000} { // the last is larger than the budget
		key, b := row(50+i, n, 1)
		if err := s.Put(key, b); !errors.Is(err, want) {
			t.Fatalf("put: %v, want %v", err, want)
		}
		if _, err := s.Get(key); !errors.Is(err, ErrNotFound) {
			t.Fatalf("get of what was refused: %v, want none", err)
		}
	}
	key, b := row(0, 1000, 1)
	if err := s.Put(key, b); !errors.Is(err, want) {
		t.Fatalf("put over a block: %v, want %v", err, want)
	}
	for range 3 {
		for i := range 6 {
			key, _ := row(i, 100, 0)
			wantRow(t, s, key, 100, int64(i))
			err := s.View(key, func(b matrix.Block) error {
				if b.Data.Values().([]int64)[5] != int64(i) {
					t.Errorf("block %d changed", i)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	audit(t, s)
	after := s.Stats()
	if after.Disk != before.Disk || after.Segments != before.Segments || after.Failures == 0 {
		t.Errorf("%+v, was %+v: want no slot more, and failures counted", after, before)
	}
	key, _ = row(0, 100, 0)
	if err := s.Update(key, func(*matrix.Block) error { return nil }); !errors.Is(err, want) {
		t.Errorf("update: %v, want %v: all that is in memory has to be written first", err, want)
	}
	s.disk.limit, s.disk.writeAt = 0, (*os.File).WriteAt // room again
	put(t, s, 50, 100, 1)
	for i := range 6 {
		key, _ := row(i, 100, 0)
		wantRow(t, s, key, 100, int64(i))
	}
	audit(t, s)
}

// Blocks that have a slot can be changed though there is no room for another.
func TestUpdateOnFullDisk(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 800, Disk: 4 * (128 + 832)})
	for i := range 4 {
		put(t, s, i, 100, 0)
	}
	for i := range 40 {
		key, _ := row(i%4, 100, 0)
		err := s.Update(key, func(b *matrix.Block) error {
			for k := range b.Data.Values().([]int64) {
				b.Data.Values().([]int64)[k]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		key, _ := row(i, 100, 0)
		wantRow(t, s, key, 100, 10)
	}
	if err := s.Put(row(5, 100, 0)); err != nil { // block 3 has its slot on disk and this one the memory
		t.Fatal(err)
	}
	if err := s.Put(row(6, 100, 0)); !errors.Is(err, ErrFull) {
		t.Fatalf("%v, want %v", err, ErrFull)
	}
	audit(t, s)
}

// What need not be written makes room for what is new, also when the clock comes to others first.
func TestPutOnFullDisk(t *testing.T) {
	for dirty := range 2 {
		s := open(t, Options{Dir: t.TempDir(), Budget: 1600, Disk: 2 * (128 + 832)})
		for i := range 3 {
			put(t, s, i, 100, int64(i))
		}
		for range 2 { // brings block 0, and block 1 leaves; then 0 or 2 is used
			key, _ := row(0, 100, 0)
			wantRow(t, s, key, 100, 0)
		}
		if st := s.Stats(); st.Disk != 2*(128+832) || st.SpilledBlocks != 1 {
			t.Fatalf("%+v, want two written and one of them in memory", st)
		}
		key, _ := row(2*dirty, 100, 0)
		wantRow(t, s, key, 100, int64(2*dirty))
		put(t, s, 10, 100, 7)
		if err := s.Put(row(11, 100, 0)); !errors.Is(err, ErrFull) {
			t.Fatalf("%v, want %v", err, ErrFull)
		}
		for i := range 3 {
			key, _ := row(i, 100, 0)
			wantRow(t, s, key, 100, int64(i))
		}
		audit(t, s)
	}
}

// Two stores in one directory do not see each other, and none leaves a name in it.
func TestOneDirectory(t *testing.T) {
	dir := t.TempDir()
	a := open(t, Options{Dir: dir})
	ka := put(t, a, 0, 100, 1)
	b := open(t, Options{Dir: dir})
	kb := put(t, b, 0, 100, 2)
	c := open(t, Options{Dir: dir})
	wantRow(t, a, ka, 100, 1)
	wantRow(t, b, kb, 100, 2)
	if _, err := c.Get(ka); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want an empty store", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantRow(t, a, ka, 100, 1)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantNoFiles(t, dir)
}

func wantNoFiles(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Errorf("%s is left", f.Name())
	}
}

// FuzzDecode gives a record's bytes any content with the right checksum.
func FuzzDecode(f *testing.F) {
	s, err := Open(Options{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	r := rand.New(rand.NewPCG(1, 1))
	for kind := blockio.Empty; kind <= blockio.Cols; kind++ {
		b := makeBlock(r, kind, matrix.F32, 3, 4)
		rec, err := s.disk.write(&entry{}, record{}, b)
		if err != nil {
			f.Fatal(err)
		}
		raw := make([]byte, rec.len())
		if _, err := rec.seg.file.ReadAt(raw, rec.off); err != nil {
			f.Fatal(err)
		}
		s.disk.release(rec)
		f.Add(raw, byte(rec.head))
	}
	f.Fuzz(func(t *testing.T, raw []byte, head byte) {
		if len(raw) < prefixLen || head > blockio.MaxHead {
			return
		}
		le := binary.LittleEndian
		e := &entry{rec: record{head: int(head), n: int64(len(raw)-prefixLen) + int64(head)}}
		e.rec.number, e.rec.write = le.Uint64(raw[8:]), le.Uint64(raw[16:])
		le.PutUint64(raw[24:], uint64(e.rec.n))
		le.PutUint32(raw[32:], uint32(head))
		le.PutUint32(raw[4:], crc32.Checksum(raw[summedFrom:], castagnoli()))
		for _, inPlace := range []bool{true, false} {
			b, err := e.decode(raw, inPlace)
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Errorf("%v, want damage", err)
				}
				continue
			}
			if got, want := bytesOf(t, b), raw[prefixLen-int(head):]; len(got) > len(want)+64 {
				t.Errorf("%d bytes of a block from %d", len(got), len(want))
			}
		}
	})
}
