package spill

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

// ways are the two ways to read files.
var ways = map[string]bool{"mapped": false, "read": true}

func open(t interface {
	Fatalf(string, ...any)
	Cleanup(func())
}, o Options) *Store {
	s, err := Open(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// makeBlock makes a valid block of a kind and type with random bits as values.
func makeBlock(r *rand.Rand, kind blockio.Kind, d matrix.DType, rows, cols int) matrix.Block {
	lo := matrix.Range{Lo: r.Int64N(9) - 4, Hi: 0}
	at := matrix.At(lo.Lo, lo.Lo+int64(rows), 100, 100+int64(cols))
	make := matrix.KindOf(d)
	var row, idx []int64
	ptr := []int{0}
	for i := range rows {
		for c := range cols {
			if r.IntN(3) == 0 {
				row, idx = append(row, int64(i)), append(idx, 100+int64(c))
			}
		}
		ptr = append(ptr, len(idx))
	}
	var data matrix.Data
	switch kind {
	case blockio.Empty:
		return matrix.Block{At: at, Data: matrix.Empty{D: d}}
	case blockio.Dense:
		data = make.Dense(rows * cols)
	case blockio.CSR:
		data = make.CSR(ptr, idx)
	case blockio.COO:
		slices.Reverse(row)
		slices.Reverse(idx)
		data = make.COO(row, idx)
	case blockio.Cols:
		slices.Sort(idx)
		idx = slices.Compact(idx)
		data = make.Cols(idx, rows)
	}
	raw, _ := wire.ViewAny(data.Values())
	for i := range raw {
		raw[i] = byte(r.Uint32())
		if d == matrix.Bool {
			raw[i] &= 1
		}
	}
	return matrix.Block{At: at, Data: data}
}

// bytesOf says all of a block.
func bytesOf(t interface{ Fatalf(string, ...any) }, b matrix.Block) []byte {
	if err := b.Check(); err != nil {
		t.Fatalf("%v", err)
	}
	raw, err := blockio.Append(nil, b)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return raw
}

// audit compares the store's sums with what they are sums of. Nothing may be running.
func audit(t interface{ Fatalf(string, ...any) }, s *Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var resident, pinned, disk int64
	blocks, linked := 0, 0
	for key, e := range s.entries {
		if e.key != key || e.absent() || e.holds != 0 {
			t.Fatalf("%v: entry of %v, absent %v, %d holds", key, e.key, e.absent(), e.holds)
		}
		if in := e.block.Data != nil; in != (e.next != nil) || !in && (e.size != 0 || e.dirty) {
			t.Fatalf("%v: in memory %v, on the clock %v, %d bytes, dirty %v", key, in, e.next != nil, e.size, e.dirty)
		}
		if e.block.Data != nil {
			blocks++
			if size, err := sound(key, e.block); err != nil || size != e.size {
				t.Fatalf("%v: counted as %d bytes, want %d (%v)", key, e.size, size, err)
			}
		}
		if e.rec.seg != nil {
			disk += prefixLen + e.rec.class
		}
		resident += e.size
	}
	for e := s.hand; e != nil; {
		if linked++; e.next == s.hand {
			break
		}
		e = e.next
	}
	st := s.stats
	if st.Resident != resident || st.Pinned != pinned || st.ResidentBlocks != blocks || linked != blocks {
		t.Fatalf("%+v, %d on the clock; want %d bytes, %d pinned, %d blocks", st, linked, resident, pinned, blocks)
	}
	if s.disk.used != disk {
		t.Fatalf("%d bytes on disk, want %d", s.disk.used, disk)
	}
	if resident > s.budget {
		t.Fatalf("%d bytes in memory at rest, want at most %d", resident, s.budget)
	}
}

func TestStoreAgreesWithModel(t *testing.T) {
	for name, noMap := range ways {
		t.Run(name, rapid.MakeCheck(func(rt *rapid.T) {
			s, err := Open(Options{
				Dir: t.TempDir(), NoMap: noMap,
				Budget:  rapid.SampledFrom([]int64{0, 64, 300, 1000, 5000}).Draw(rt, "budget"),
				Segment: rapid.SampledFrom([]int64{1, 1000, 10000}).Draw(rt, "segment"),
			})
			if err != nil {
				rt.Fatal(err)
			}
			defer s.Close()
			m := model{s: s, want: map[Key]matrix.Block{}}
			m.rand = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			rt.Repeat(map[string]func(*rapid.T){
				"put": m.put, "get": m.get, "view": m.view, "update": m.update, "delete": m.delete, "nest": m.nest,
				"": m.audit,
			})
		}))
	}
}

// model is what a store has to be like.
type model struct {
	s    *Store
	want map[Key]matrix.Block
	rand *rand.Rand
}

func (m *model) key(t *rapid.T) Key {
	i := rapid.Int64Range(0, 7).Draw(t, "key")
	return Key{[]string{"a", "b"}[i%2], matrix.At(i, i+1, 0, 1)}
}

func (m *model) block(t *rapid.T) matrix.Block {
	kind := blockio.Kind(rapid.IntRange(int(blockio.Empty), int(blockio.Cols)).Draw(t, "kind"))
	d := rapid.SampledFrom(matrix.DTypes()).Draw(t, "type")
	return makeBlock(m.rand, kind, d, rapid.IntRange(0, 12).Draw(t, "rows"), rapid.IntRange(0, 12).Draw(t, "cols"))
}

func (m *model) put(t *rapid.T) {
	key, b := m.key(t), m.block(t)
	if err := m.s.Put(key, b.Clone()); err != nil {
		t.Fatal(err)
	}
	m.want[key] = b
}

// same compares what the store says of a key with the model.
func (m *model) same(t *rapid.T, key Key, got matrix.Block, err error) {
	want, ok := m.want[key]
	if !ok {
		if !errors.Is(err, ErrNotFound) {
			t.Fatalf("%v: %v, want none", key, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.At != want.At || !bytes.Equal(bytesOf(t, got), bytesOf(t, want)) {
		t.Fatalf("%v: %v, want %v", key, got, want)
	}
}

func (m *model) get(t *rapid.T) {
	key := m.key(t)
	b, err := m.s.Get(key)
	m.same(t, key, b, err)
	if err == nil { // the copy is the caller's
		raw, _ := wire.ViewAny(b.Data.Values())
		clear(raw)
	}
}

func (m *model) view(t *rapid.T) {
	key, stop := m.key(t), errors.New("stop")
	err := m.s.View(key, func(b matrix.Block) error {
		m.same(t, key, b, nil)
		return stop
	})
	if err != stop && !errors.Is(err, ErrNotFound) || errors.Is(err, ErrNotFound) == (m.want[key].Data != nil) {
		t.Fatalf("%v: %v", key, err)
	}
}

// nest works on some blocks while others are looked at.
func (m *model) nest(t *rapid.T) {
	keys := slices.SortedFunc(maps.Keys(m.want), func(a, b Key) int { return int(a.At.Rows.Lo - b.At.Rows.Lo) })
	var down func(keys []Key) error
	down = func(keys []Key) error {
		if len(keys) == 0 {
			st := m.s.Stats()
			if st.Resident > m.s.budget+st.Pinned {
				t.Fatalf("%d bytes in memory, %d pinned, want at most %d beside these", st.Resident, st.Pinned, m.s.budget)
			}
			return nil
		}
		return m.s.View(keys[0], func(b matrix.Block) error {
			err := down(keys[1:])
			m.same(t, keys[0], b, err)
			return err
		})
	}
	if err := down(keys); err != nil {
		t.Fatal(err)
	}
}

func (m *model) update(t *rapid.T) {
	key, next, fail := m.key(t), m.block(t), rapid.Bool().Draw(t, "fail")
	way := rapid.SampledFrom([]string{"replace", "in place"}).Draw(t, "way")
	stop := errors.New("stop")
	want, ok := m.want[key]
	err := m.s.Update(key, func(b *matrix.Block) error {
		m.same(t, key, *b, nil)
		switch {
		case way == "replace":
			*b = next.Clone()
			if !fail {
				m.want[key] = next
			}
		default: // stays, even after an error
			for _, one := range []matrix.Block{*b, want} {
				raw, _ := wire.ViewAny(one.Data.Values())
				for i := range raw {
					raw[i] ^= 1
				}
			}
		}
		if fail {
			return stop
		}
		return nil
	})
	if ok && (err == stop) != fail || ok && !fail && err != nil || !ok && !errors.Is(err, ErrNotFound) {
		t.Fatalf("%v: %v", key, err)
	}
}

func (m *model) delete(t *rapid.T) {
	key := m.key(t)
	if err := m.s.Delete(key); err != nil {
		t.Fatal(err)
	}
	delete(m.want, key)
}

func (m *model) audit(t *rapid.T) {
	audit(t, m.s)
	keys := m.s.Keys()
	if len(keys) != len(m.want) {
		t.Fatalf("keys %v, want %v", keys, m.want)
	}
	for i, k := range keys {
		if _, ok := m.want[k]; !ok || i > 0 && fmt.Sprint(keys[i-1]) >= fmt.Sprint(k) {
			t.Fatalf("keys %v, want %v in order", keys, m.want)
		}
	}
}
