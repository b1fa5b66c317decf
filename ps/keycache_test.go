package ps

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestKeyCache: whatever is put and dropped, the cache finds exactly the keys that it holds, with the values and clocks that came last,
// holds no more than it may, and keeps nothing that was asked for before its key was dropped.
func TestKeyCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lump = 12
		most := rapid.IntRange(leastRecords, 40).Draw(t, "records")
		c := newKeyCache(int64(most*(8*(headWords+2)+besideRecord)), 0, lump)
		if c.most != most {
			t.Fatalf("room for %d records, want %d", c.most, most)
		}
		type value struct{ asked, asOf int }
		last := map[int64]value{} // what each key was put with, if it may be here
		for step := range rapid.IntRange(1, 300).Draw(t, "steps") {
			key := rapid.Int64Range(0, 60).Draw(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				c.drop([]int64{key, key + 1, key})
				delete(last, key)
				delete(last, key+1)
			case 1:
				if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
					c.forget()
					clear(last)
				}
			default:
				c.asked++
				asked := c.asked - uint64(rapid.IntRange(0, 2).Draw(t, "late"))
				asOf := step / 3
				_, had := c.find(key, c.hash(key))
				val := make([]byte, lump)
				binary.LittleEndian.PutUint64(val, uint64(key))
				binary.LittleEndian.PutUint32(val[8:], uint32(asked))
				uses := c.seen.add(c.hash(key))
				c.put(key, val, asOf, asOf, asked, uses)
				_, i := c.find(key, c.hash(key))
				switch {
				case asked <= c.from && had < 0 && i >= 0:
					t.Fatal("what was asked for before the key was dropped is kept")
				case i >= 0 && asked > c.from && c.record(i)[2] == asked:
					last[key] = value{int(asked), asOf}
				}
			}
			here := 0
			for key := range int64(62) {
				_, i := c.find(key, c.hash(key))
				if i < 0 {
					continue
				}
				here++
				want, ok := last[key]
				rec := c.record(i)
				asOf, _ := clocksOf(rec)
				if !ok || int64(rec[0]) != key || rec[2] != uint64(want.asked) || asOf != want.asOf || rec[headWords] != uint64(key) {
					t.Fatalf("key %d: record %v, want %+v (put: %v)", key, rec, want, ok)
				}
			}
			if here != c.used || c.used > most {
				t.Fatalf("%d keys are found of %d, want at most %d", here, c.used, most)
			}
		}
	})
}

// TestSketch: a count is never too low, and of few keys exact.
func TestSketch(t *testing.T) {
	s := newSketch(1000)
	for key := range uint64(100) {
		for range key % 20 {
			s.add(key * 0x9e3779b97f4a7c15)
		}
	}
	high := 0
	for key := range uint64(100) {
		line, h := s.line(key * 0x9e3779b97f4a7c15)
		got, want := int(s.least(line, h)), int(min(key%20, mostCounts))
		if got < want {
			t.Errorf("key %d: %d uses, want %d or more", key, got, want)
		}
		if got > want {
			high++
		}
	}
	if high > 3 {
		t.Errorf("%d of 100 keys were counted too often", high)
	}
	s.halve()
	for key := range uint64(100) {
		line, h := s.line(key * 0x9e3779b97f4a7c15)
		if got, want := int(s.least(line, h)), int(min(key%20, mostCounts))/2; got < want {
			t.Errorf("key %d: %d uses after halving, want %d or more", key, got, want)
		}
	}
}

// TestKeyCacheZipf: a cache of 1 % of the keys has almost the hits that the hottest 1 % of the keys would have, where batches of keys are
// drawn by Zipf's law, each key counted once a batch; and it follows when other keys become hot.
func TestKeyCacheZipf(t *testing.T) {
	const keys, skew, batch, warm, measured = 1_000_000, 1.1, 2000, 700, 100
	c := newKeyCache(keys/100*(8*(headWords+1)+besideRecord), 0, 8)
	rng := rand.New(rand.NewPCG(1, 2))
	val := make([]byte, 8)
	for phase := range uint64(2) {
		hits, best, all := 0, 0, 0
		for n := range warm + measured {
			c.asked++
			seen := map[int64]bool{}
			for range batch {
				u := rng.Float64()
				rank := int64(math.Pow(1+u*(math.Pow(keys+1, 1-skew)-1), 1/(1-skew))) - 1
				key := rank + int64(phase)<<40
				if seen[key] {
					continue
				}
				seen[key] = true
				h := c.hash(key)
				_, i := c.find(key, h)
				if n >= warm {
					all++
					if rank < keys/100 {
						best++
					}
					if i >= 0 {
						hits++
					}
				}
				if i >= 0 {
					c.use(i)
				} else {
					c.put(key, val, n, n, c.asked, c.seen.add(h))
				}
			}
			c.age(len(seen))
		}
		t.Logf("phase %d: %.3f of the keys of a batch are hits, %.3f are of the hottest 1 %%", phase,
			float64(hits)/float64(all), float64(best)/float64(all))
		if float64(hits) < 0.9*float64(best) {
			t.Errorf("phase %d: %d hits of %d keys, want about %d", phase, hits, all, best)
		}
	}
}
