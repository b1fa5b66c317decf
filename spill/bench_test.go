package spill

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thole.example/matrix"
)

const (
	benchCells  = 1 << 17 // a block of 1 MiB
	benchBlocks = 64      // the budget
)

// BenchmarkStore works on blocks at random, with twice and ten times as many bytes as the budget.
func BenchmarkStore(b *testing.B) {
	for _, times := range []int{1, 2, 10} {
		for _, c := range []struct {
			name  string
			noMap bool
			call  func(s *Store, key Key) error
		}{
			{"get mapped", false, get},
			{"get read", true, get},
			{"view mapped", false, view},
			{"view read", true, view},
			{"update mapped", false, update},
			{"update read", true, update},
		} {
			b.Run(fmt.Sprintf("%s/%d times", c.name, times), func(b *testing.B) {
				s := open(b, Options{Dir: b.TempDir(), Budget: benchBlocks * benchCells * 8, NoMap: c.noMap})
				fillStore(b, s, times*benchBlocks)
				r := rand.New(rand.NewPCG(1, 1))
				keys := s.Keys()
				before := s.Stats()
				b.SetBytes(benchCells * 8)
				for b.Loop() {
					if err := c.call(s, keys[r.IntN(len(keys))]); err != nil {
						b.Fatal(err)
					}
				}
				st := s.Stats()
				hits := st.Hits - before.Hits
				b.ReportMetric(100*float64(hits)/float64(hits+st.Misses-before.Misses), "%hit")
			})
		}
	}
}

func fillStore(b *testing.B, s *Store, blocks int) {
	for i := range blocks {
		key, block := row(i, benchCells, int64(i))
		if err := s.Put(key, block); err != nil {
			b.Fatal(err)
		}
	}
}

func get(s *Store, key Key) error {
	_, err := s.Get(key)
	return err
}

// view sums the values: a view that looks at nothing is no work.
func view(s *Store, key Key) error {
	return s.View(key, func(b matrix.Block) error {
		sum := int64(0)
		for _, v := range b.Data.Values().([]int64) {
			sum += v
		}
		if sum != key.At.Rows.Lo*benchCells {
			return fmt.Errorf("sum %d of block %v", sum, key)
		}
		return nil
	})
}

func update(s *Store, key Key) error {
	return s.Update(key, func(b *matrix.Block) error {
		v := b.Data.Values().([]int64)
		for i := range v {
			v[i]++
		}
		return nil
	})
}

// BenchmarkFile is the same without a store: a file of as many bytes, pieces of it at random, one call each.
func BenchmarkFile(b *testing.B) {
	for _, times := range []int{2, 10} {
		f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		piece := make([]byte, benchCells*8)
		n := times * benchBlocks
		for i := range n {
			if _, err := f.WriteAt(piece, int64(i*len(piece))); err != nil {
				b.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(1, 1))
		for name, call := range map[string]func(p []byte, off int64) (int, error){
			"read": f.ReadAt, "write": f.WriteAt,
			"read to new memory": func(p []byte, off int64) (int, error) { return f.ReadAt(make([]byte, len(p)), off) },
		} {
			b.Run(fmt.Sprintf("%s/%d times", name, times), func(b *testing.B) {
				b.SetBytes(int64(len(piece)))
				for b.Loop() {
					if _, err := call(piece, int64(r.IntN(n)*len(piece))); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// sizes are those of blocks that change: mostly about as large as before.
func resized(r *rand.Rand, n int64) int64 {
	return min(max(n+int64(r.NormFloat64()*float64(n)/20), 1000), 1<<20)
}

// BenchmarkLayout compares what slots by size class and an append-only log with compaction cost in disk and in writing,
// when blocks of random sizes change at random. Each step is one change.
func BenchmarkLayout(b *testing.B) {
	const blocks, segmentBytes = 2000, 4 << 20
	sizes := func(r *rand.Rand) []int64 {
		n := make([]int64, blocks)
		for i := range n {
			n[i] = 1000 + int64(r.ExpFloat64()*30000)
		}
		return n
	}
	b.Run("slots", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 1))
		d := &disk{dir: b.TempDir(), segment: segmentBytes, room: map[int64][]*segment{}}
		recs, live := make([]record, blocks), int64(0)
		n := sizes(r)
		set := func(i int) {
			if class := classOf(n[i]); recs[i].seg == nil || recs[i].class != class {
				old := recs[i]
				s, err := d.allocate(class)
				if err != nil {
					b.Fatal(err)
				}
				recs[i].slot = s
				d.release(old)
			}
			live += n[i]
		}
		for i := range blocks {
			set(i)
		}
		for b.Loop() {
			i := r.IntN(blocks)
			live -= n[i]
			n[i] = resized(r, n[i])
			set(i)
		}
		b.ReportMetric(float64(d.used)/float64(live), "disk/live")
		b.ReportMetric(float64(reached(recs))/float64(live), "files/live")
		b.ReportMetric(1, "written/changed")
		for _, rec := range recs {
			d.release(rec)
		}
	})
	for _, full := range []float64{0.9, 0.8} {
		b.Run(fmt.Sprintf("log %.0f%% full", 100*full), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			l := &ledger{size: sizes(r), in: make([]int, blocks), segment: segmentBytes, full: full, live: []int64{0}}
			for i := range blocks {
				l.add(i)
			}
			changed, before := int64(0), l.written
			for b.Loop() {
				i := r.IntN(blocks)
				l.live[l.in[i]] -= l.size[i]
				l.size[i] = resized(r, l.size[i])
				l.add(i)
				changed += l.size[i]
				l.compact()
			}
			b.ReportMetric(float64(l.written-before)/float64(changed), "written/changed")
			b.ReportMetric(1/full, "disk/live")
		})
	}
}

// reached is the bytes of files up to the last slot that was ever used.
func reached(recs []record) (n int64) {
	var seen []*segment
	for _, r := range recs {
		if !slices.Contains(seen, r.seg) {
			seen = append(seen, r.seg)
			n += r.seg.fresh * (prefixLen + r.seg.class)
		}
	}
	return n
}

// ledger is the accounts of a log without its bytes: blocks are appended to the last segment, and when too little of the
// whole is live, the emptiest segment is copied to the end.
type ledger struct {
	size    []int64 // of each block
	in      []int   // its segment
	live    []int64 // bytes of each segment
	end     int64   // of the last segment
	written int64
	segment int64
	full    float64
}

func (l *ledger) add(i int) {
	if l.end += l.size[i]; l.end > l.segment {
		l.live, l.end = append(l.live, 0), l.size[i]
	}
	l.in[i] = len(l.live) - 1
	l.live[l.in[i]] += l.size[i]
	l.written += l.size[i]
}

func (l *ledger) compact() {
	for {
		total, files, emptiest := int64(0), int64(0), -1
		for g, n := range l.live[:len(l.live)-1] {
			if n < 0 {
				continue // given back
			}
			total, files = total+n, files+l.segment
			if emptiest < 0 || n < l.live[emptiest] {
				emptiest = g
			}
		}
		if float64(total) >= l.full*float64(files) {
			return
		}
		for i, g := range l.in {
			if g == emptiest {
				l.add(i)
			}
		}
		l.live[emptiest] = -1
	}
}
