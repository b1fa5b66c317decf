package feature

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"

	"thole.example/kernel"
)

// seed is of the hashes by which levels are found in tables of this process. Nothing that is kept depends on it, and nobody who makes
// up texts can know it.
var seed = maphash.MakeSeed()

// hashText is the hash of a level; 0 is that of no level. Two of a million levels of a column have the same one with a probability of
// about 2^-25, in one process and not in the next.
func hashText(text []byte) uint64 {
	if h := maphash.Bytes(seed, text); h != 0 {
		return h
	}
	return 1
}

// levels finds the codes of levels by their hashes: open addressing, at most half full. Any number of goroutines may find at once.
type levels struct {
	slots []slot
	n     int
	as    Comparison // of cells that are none of the texts
}

type slot struct {
	hash uint64 // 0: free
	code int32
}

func newLevels(n int) *levels {
	size := 8 // tables may have very many columns
	for size < 2*n {
		size *= 2
	}
	return &levels{slots: make([]slot, size)}
}

// find is the code of the level with the hash, -1 if there is none.
func (l *levels) find(hash uint64) int32 {
	mask := uint64(len(l.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch s := &l.slots[i]; s.hash {
		case hash:
			return s.code
		case 0:
			return -1
		}
	}
}

// touch loads the places where the levels with the hashes are looked for first: the processor waits for many of them at once.
func (l *levels) touch(hashes []uint64) (all uint64) {
	mask := uint64(len(l.slots) - 1)
	for _, h := range hashes {
		all ^= l.slots[h&mask].hash
	}
	return all
}

// set adds a level that is not there.
func (l *levels) set(hash uint64, code int32) {
	if 2*(l.n+1) > len(l.slots) {
		old := l.slots
		l.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.hash != 0 {
				l.put(s)
			}
		}
	}
	l.put(slot{hash, code})
	l.n++
}

func (l *levels) put(s slot) {
	mask := uint64(len(l.slots) - 1)
	i := s.hash & mask
	for l.slots[i].hash != 0 {
		i = (i + 1) & mask
	}
	l.slots[i] = s
}

// dictionary gives levels codes while they come, to several goroutines. Code 0 is the missing level.
type dictionary struct {
	mu    sync.Mutex
	known *levels
	texts []byte
	ends  []int
}

func newDictionary() *dictionary { return &dictionary{known: newLevels(0), ends: []int{0}} }

// code is that of the level, a new one if there is none.
func (d *dictionary) code(hash uint64, text []byte) (int32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if code := d.known.find(hash); code >= 0 {
		return code, nil
	}
	code := len(d.ends)
	if code >= LevelLimit {
		return 0, fmt.Errorf("more than %d levels, want a column of kind hash or ignore", LevelLimit)
	}
	d.texts = append(d.texts, text...)
	d.ends = append(d.ends, len(d.texts))
	d.known.set(hash, int32(code))
	return int32(code), nil
}

// bytes is the level with the code, which is the dictionary's.
func (d *dictionary) bytes(code int32) []byte {
	if code == 0 {
		return nil
	}
	return d.texts[d.ends[code-1]:d.ends[code]]
}

// text is the level with the code.
func (d *dictionary) text(code int32) string { return string(d.bytes(code)) }

// len is how many codes there are.
func (d *dictionary) len() int { return len(d.ends) }

// Of is a hash of a text that is the same everywhere and always: of eight bytes after the other, the last ones filled up with zeros,
// h = Hash(h xor the bytes) with Hash that of package kernel, from the length on.
func Of(text []byte) uint64 {
	h := uint64(len(text))
	for ; len(text) >= 8; text = text[8:] {
		h = kernel.Hash(h ^ binary.LittleEndian.Uint64(text))
	}
	if len(text) > 0 {
		var last [8]byte
		copy(last[:], text)
		h = kernel.Hash(h ^ binary.LittleEndian.Uint64(last[:]))
	}
	return h
}

// Bucket is the one of n that a text is hashed to.
func Bucket(text []byte, n int64) int64 {
	b, _ := bits.Mul64(Of(text), uint64(n))
	return int64(b)
}
