package spill

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"thole.example/matrix"
)

// Many goroutines count in the same few blocks. No count is lost, no block is seen half changed, and memory stays within
// the budget and one block for each goroutine.
func TestCrowd(t *testing.T) {
	const workers, keys, steps = 8, 6, 400
	for name, noMap := range ways {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), Budget: 2000, Segment: 4096, NoMap: noMap})
			sizes := [keys]int{10, 50, 100, 100, 200, 400} // the last is larger than the budget
			for i, n := range sizes {
				put(t, s, i, n, 0)
			}
			var counts [workers][keys]int64
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					r := rand.New(rand.NewPCG(uint64(w), 1))
					for range steps {
						i := r.IntN(keys)
						key, _ := row(i, sizes[i], 0)
						counts[w][i] += step(t, s, key, r.IntN(4))
						if st := s.Stats(); st.Resident > 2000+(workers+1)*3200 {
							t.Errorf("%+v: too much in memory", st)
						}
					}
				})
			}
			all.Wait()
			audit(t, s)
			for i, n := range sizes {
				key, _ := row(i, n, 0)
				want := int64(0)
				for w := range workers {
					want += counts[w][i]
				}
				wantRow(t, s, key, n, want)
			}
		})
	}
}

// step looks at a block in some way, or counts in it: then it is 1.
func step(t *testing.T, s *Store, key Key, way int) int64 {
	same := func(b matrix.Block) error {
		v := b.Data.Values().([]int64)
		for _, x := range v {
			if x != v[0] {
				t.Errorf("%d and %d in one block", v[0], x)
			}
		}
		return nil
	}
	var err error
	switch way {
	case 0:
		var b matrix.Block
		if b, err = s.Get(key); err == nil {
			err = same(b)
		}
	case 1:
		err = s.View(key, same)
	default:
		err = s.Update(key, func(b *matrix.Block) error {
			for i := range b.Data.Values().([]int64) {
				b.Data.Values().([]int64)[i]++
			}
			return same(*b)
		})
		if err == nil {
			return 1
		}
	}
	if err != nil {
		t.Error(err)
	}
	return 0
}

// Who needs room waits for a block that is on its way to disk, and does not pass the budget.
func TestWaitsForEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{Dir: t.TempDir(), Budget: 800})
		put(t, s, 0, 100, 0)
		turn, puts := make(chan bool), sync.WaitGroup{}
		s.disk.writeAt = func(f *os.File, b []byte, off int64) (int, error) {
			<-turn
			return f.WriteAt(b, off)
		}
		for i := range 3 {
			puts.Go(func() { put(t, s, 1+i, 100, 1) })
		}
		synctest.Wait()
		if st := s.Stats(); st.Resident != 800 || st.SpilledBlocks != 3 {
			t.Errorf("%+v, want one block in memory and none of the new ones", st)
		}
		if err := s.View(Key{Name: "other"}, nil); !errors.Is(err, ErrNotFound) { // others need not wait for the file
			t.Errorf("%v, want none", err)
		}
		close(turn)
		puts.Wait()
		audit(t, s)
	})
}

// Goroutines put and delete the same keys; whoever finds a block finds a whole one.
func TestCrowdOfWriters(t *testing.T) {
	const workers, keys, steps = 8, 4, 400
	for name, noMap := range ways {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), Budget: 1500, Segment: 4096, NoMap: noMap})
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() { write(t, s, rand.New(rand.NewPCG(uint64(w), 2)), keys, steps) })
			}
			all.Wait()
			audit(t, s)
			for _, key := range s.Keys() {
				if err := s.Delete(key); err != nil {
					t.Error(err)
				}
			}
			if st := s.Stats(); st.Resident != 0 || st.Disk != 0 || st.Segments != 0 {
				t.Errorf("%+v, want nothing left", st)
			}
		})
	}
}

func write(t *testing.T, s *Store, r *rand.Rand, keys, steps int) {
	for range steps {
		i, n := r.IntN(keys), r.IntN(300)
		key, _ := row(i, 1, 0)
		_, b := row(i, n, int64(n))
		var err error
		whole := func(b matrix.Block) error {
			for _, v := range b.Data.Values().([]int64) {
				if v != b.At.Cols.Hi {
					t.Errorf("%d in a block of %d", v, b.At.Cols.Hi)
				}
			}
			return nil
		}
		switch r.IntN(5) {
		case 0, 1:
			err = s.Put(key, b)
		case 2:
			err = s.Delete(key)
		case 3:
			err = s.View(key, whole)
		case 4:
			err = s.Update(key, func(old *matrix.Block) error { *old = b; return whole(*old) })
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	}
}
