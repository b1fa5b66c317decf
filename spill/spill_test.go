package spill

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blockio"
	"thole.example/matrix"
)

// row is the i-th key and a dense row of n values v.
func row(i, n int, v int64) (Key, matrix.Block) {
	at := matrix.At(int64(i), int64(i)+1, 0, int64(n))
	b := matrix.NewDense(matrix.I64, at)
	for k := range b.Data.Values().([]int64) {
		b.Data.Values().([]int64)[k] = v
	}
	return Key{"w", at}, b
}

func put(t *testing.T, s *Store, i, n int, v int64) Key {
	t.Helper()
	key, b := row(i, n, v)
	if err := s.Put(key, b); err != nil {
		t.Fatal(err)
	}
	return key
}

func wantRow(t *testing.T, s *Store, key Key, n int, v int64) {
	t.Helper()
	b, err := s.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	got := b.Data.Values().([]int64)
	if len(got) != n {
		t.Fatalf("%d values, want %d", len(got), n)
	}
	for _, x := range got {
		if x != v {
			t.Fatalf("%d, want %d", x, v)
		}
	}
}

// Only what was changed since it was written is written again.
func TestCleanBlocksAreDropped(t *testing.T) {
	for name, noMap := range ways {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), Budget: 800, NoMap: noMap}) // one block of 100 values
			a := put(t, s, 0, 100, 1)
			b := put(t, s, 1, 100, 2)
			before := s.Stats()
			if before.Evictions != 1 || before.BytesWritten == 0 || before.SpilledBlocks != 1 {
				t.Fatalf("%+v, want one block written", before)
			}
			for range 2 { // the second time it is brought
				wantRow(t, s, a, 100, 1)
			}
			if st := s.Stats(); st.BytesWritten != 2*before.BytesWritten || st.Evictions != 2 || st.ResidentBlocks != 1 {
				t.Fatalf("%+v, want b evicted and written", st)
			}
			for range 2 {
				wantRow(t, s, b, 100, 2)
				wantRow(t, s, a, 100, 1)
			}
			st := s.Stats()
			if st.BytesWritten != 2*before.BytesWritten || st.Evictions < 3 {
				t.Fatalf("%+v, want evictions without writing", st)
			}
			audit(t, s)
		})
	}
}

// A block that was used since the hand went by gets a second chance.
func TestSecondChance(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 2400})
	keys := []Key{put(t, s, 0, 100, 0), put(t, s, 1, 100, 1), put(t, s, 2, 100, 2)}
	put(t, s, 3, 100, 3) // a full round clears the marks, and block 0 goes
	wantRow(t, s, keys[1], 100, 1)
	put(t, s, 4, 100, 4)
	hits := s.Stats().Hits
	wantRow(t, s, keys[1], 100, 1)
	if got := s.Stats().Hits - hits; got != 1 {
		t.Fatalf("block 1 was evicted, want block 2: it was not used")
	}
	misses := s.Stats().Misses
	wantRow(t, s, keys[2], 100, 2)
	if got := s.Stats().Misses - misses; got != 1 {
		t.Fatal("block 2 is in memory, want it evicted")
	}
}

// One pass over everything leaves in memory what is there.
func TestPassDrivesNothingOut(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 2400})
	for i := range 30 {
		put(t, s, i, 100, int64(i))
	}
	before := s.Stats()
	for _, k := range s.Keys() {
		if err := s.View(k, func(matrix.Block) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	after := s.Stats()
	if after.Evictions != before.Evictions || after.Hits != 3 || after.Misses != 27 {
		t.Errorf("%+v, was %+v: want no eviction, 3 hits, 27 misses", after, before)
	}
}

func TestLargerThanBudget(t *testing.T) {
	for name, noMap := range ways {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), Budget: 1000, NoMap: noMap})
			small := put(t, s, 0, 10, 5)
			big := put(t, s, 1, 1000, 7)
			if st := s.Stats(); st.Resident != 80 || st.SpilledBlocks != 1 {
				t.Fatalf("%+v, want the small block in memory and the large one on disk", st)
			}
			wantRow(t, s, big, 1000, 7)
			err := s.Update(big, func(b *matrix.Block) error {
				if st := s.Stats(); st.Resident != 8080 || st.Pinned != 8000 {
					t.Errorf("%+v, want the large block pinned", st)
				}
				b.Data.Values().([]int64)[999] = 8
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			err = s.View(big, func(b matrix.Block) error {
				if v := b.Data.Values().([]int64); v[998] != 7 || v[999] != 8 {
					t.Errorf("%v, want 7, 8", v[998:])
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			put(t, s, 1, 1000, 9)
			wantRow(t, s, big, 1000, 9)
			if st := s.Stats(); st.Resident != 80 || st.ResidentBlocks != 1 {
				t.Errorf("%+v, want only the small block in memory", st)
			}
			wantRow(t, s, small, 10, 5)
			audit(t, s)
		})
	}
}

// Blocks that calls work on stay, whatever else needs room; with the calls the excess ends.
func TestPinned(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 1600})
	a, b := put(t, s, 0, 100, 1), put(t, s, 1, 100, 2)
	err := s.View(a, func(x matrix.Block) error {
		return s.View(b, func(y matrix.Block) error {
			for i := 2; i < 6; i++ {
				put(t, s, i, 100, int64(i))
			}
			st := s.Stats()
			if st.Pinned != 1600 || st.Resident != 1600 {
				t.Errorf("%+v, want the two pinned blocks in memory and nothing else", st)
			}
			if x.Data.Values().([]int64)[99] != 1 || y.Data.Values().([]int64)[0] != 2 {
				t.Error("a pinned block changed")
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	audit(t, s)
	hits := s.Stats().Hits
	wantRow(t, s, a, 100, 1)
	if s.Stats().Hits != hits+1 {
		t.Error("the block that was pinned is not in memory")
	}
}

func TestRefuses(t *testing.T) {
	at := matrix.At(0, 1, 0, 3)
	key := Key{"w", at}
	s := open(t, Options{Dir: t.TempDir(), Budget: 100})
	for _, c := range []struct {
		name string
		data matrix.Data
		want string
	}{
		{"nothing", nil, "no data"},
		{"too few values", &matrix.Dense[float32]{Val: make([]float32, 2)}, "2 values"},
		{"twice", &matrix.COO[int8]{Row: []int64{0, 0}, Col: []int64{1, 1}, Val: []int8{1, 2}}, "twice"},
		{"outside", &matrix.CSR[int8]{Ptr: []int{0, 1}, Idx: []int64{3}, Val: []int8{1}}, "column 3"},
		{"boolean", &matrix.Dense[matrix.Boolean]{Val: []matrix.Boolean{0, 1, 2}}, "boolean 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := s.Put(key, matrix.Block{At: at, Data: c.data}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("put: %v, want %q", err, c.want)
			}
			if _, err := s.Get(key); !errors.Is(err, ErrNotFound) {
				t.Errorf("get: %v, want none", err)
			}
			good := matrix.NewDense(matrix.I64, at)
			if err := s.Put(key, good); err != nil {
				t.Fatal(err)
			}
			err := s.Update(key, func(b *matrix.Block) error { b.Data = c.data; return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("update: %v, want %q", err, c.want)
			}
			wantRow(t, s, key, 3, 0)
			if err := s.Delete(key); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, o := range []Options{{Budget: -1}, {Disk: -1}, {Segment: -1}} {
		if _, err := Open(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: file}); err == nil {
		t.Error("a file as directory: no error")
	}
}

func TestClosed(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 100})
	key := put(t, s, 0, 100, 1)
	entered, leave, closed := make(chan bool), make(chan bool), make(chan error)
	go func() {
		_ = s.View(key, func(b matrix.Block) error {
			close(entered)
			<-leave
			if b.Data.Values().([]int64)[99] != 1 {
				t.Error("the block went while it was looked at")
			}
			return nil
		})
	}()
	<-entered
	go func() { closed <- s.Close() }()
	for err := error(nil); !errors.Is(err, ErrClosed); { // until Close has begun
		err = s.Put(row(1, 1, 1))
	}
	close(leave)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	_, get := s.Get(key)
	for name, err := range map[string]error{
		"get": get, "delete": s.Delete(key),
		"view":   s.View(key, func(matrix.Block) error { return nil }),
		"update": s.Update(key, func(*matrix.Block) error { return nil }),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want %v", name, err, ErrClosed)
		}
	}
	if keys, st := s.Keys(), s.Stats(); len(keys) != 0 || st.Resident != 0 || st.Disk != 0 || st.Segments != 0 {
		t.Errorf("%v, %+v: want nothing left", keys, st)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A function that panics leaves the store as if it had ended with an error.
func TestPanicOfCaller(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 1000})
	key := put(t, s, 0, 10, 1)
	for _, call := range []func(){
		func() { _ = s.View(key, func(matrix.Block) error { panic("view") }) },
		func() { _ = s.Update(key, func(*matrix.Block) error { panic("update") }) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			call()
		}()
	}
	wantRow(t, s, key, 10, 1)
	audit(t, s)
}

// Data that Update takes out of the store is not used again for other blocks.
func TestReplacedDataIsTheCallers(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Budget: 800})
	a, b := put(t, s, 0, 100, 1), put(t, s, 1, 100, 2)
	for range 20 {
		var taken matrix.Data
		err := s.Update(a, func(x *matrix.Block) error {
			taken = x.Data
			_, *x = row(0, 100, 1)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			wantRow(t, s, b, 100, 2)
		}
		for _, v := range taken.Values().([]int64) {
			if v != 1 {
				t.Fatalf("%d in what was taken out, want 1", v)
			}
		}
	}
}

// Every kind and type comes back from disk with the same bits, aligned for whatever its element is.
func TestKindsAndTypes(t *testing.T) {
	for name, noMap := range ways {
		s := open(t, Options{Dir: t.TempDir(), NoMap: noMap})
		r := rand.New(rand.NewPCG(1, 2))
		for _, d := range matrix.DTypes() {
			for kind := blockio.Empty; kind <= blockio.Cols; kind++ {
				b := makeBlock(r, kind, d, 33, 17)
				key := Key{"k", b.At}
				if err := s.Put(key, b.Clone()); err != nil {
					t.Fatal(err)
				}
				got, err := s.Get(key)
				if err != nil || string(bytesOf(t, got)) != string(bytesOf(t, b)) {
					t.Fatalf("%s: %v of %v: %v, want the same", name, kind, d, err)
				}
				err = s.View(key, func(got matrix.Block) error {
					if string(bytesOf(t, got)) != string(bytesOf(t, b)) {
						t.Errorf("%s: view of %v of %v differs", name, kind, d)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
