package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"thole.example/blockio"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

const frameHead = 16

// Writer writes a stream. It is for one goroutine.
type Writer struct {
	w      io.Writer
	off    int64
	err    error
	lender lender    // the same, while a band is lent that it can be lent; nil: none is
	slices [][]byte  // of a body
	heads  hash.Hash // of frames since the begin of the record, or of the state of the job

	open  *Partition // whose record is being written
	count int64

	candidates, removed int64
}

// lender is who writes what it is given later, from where it lies.
type lender interface {
	Lend(p []byte) error
	Turn()
}

// lentBytes is from how many bytes on they are lent.
const lentBytes = 4 << 10

// NewWriter begins a stream.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: w, heads: sha256.New()}
	out.write([]byte(magic))
	return out
}

// Yield says whether what is written from now on shall leave more of the machine to others, as while somebody trains, and may take longer.
// It has no effect where that makes no difference.
func (w *Writer) Yield(yes bool) {
	if y, can := w.w.(interface{ Yield(yes bool) }); can {
		y.Yield(yes)
	}
}

// Off is how many bytes were written.
func (w *Writer) Off() int64 { return w.off }

// write keeps the first error: what comes after it is in no place.
func (w *Writer) write(b []byte) {
	if w.err == nil {
		var n int
		n, w.err = w.w.Write(b)
		w.off += int64(n)
	}
}

// Sum is the SHA-256, in hex, of the heads of the frames of the record that was written last, or of the job: they have the checksums
// of the bodies.
func (w *Writer) Sum() string { return hex.EncodeToString(w.heads.Sum(nil)) }

// frame writes a frame whose body is the slices, one after the other.
func (w *Writer) frame(k kind, body ...[]byte) error {
	size := 0
	for _, b := range body {
		size += len(b)
	}
	if err := k.check(uint64(size)); err != nil { // nobody could read it
		return err
	}
	head := wire.AppendU32(nil, wire.Little, uint32(k))
	head = wire.AppendU32(head, wire.Little, 0)
	head = wire.AppendU64(head, wire.Little, uint64(size))
	sum := kernel.CRC32C(kernel.CRC32C(0, head[:4]), head[8:])
	for _, b := range body {
		sum = kernel.CRC32C(sum, b)
	}
	wire.Little.PutUint32(head[4:], sum)
	w.heads.Write(head)
	w.write(head)
	for _, b := range body {
		if w.lender == nil || len(b) < lentBytes {
			w.write(b)
		} else if w.err == nil {
			w.err = w.lender.Lend(b)
			w.off += int64(len(b))
		}
	}
	w.write(make([]byte, -size&7))
	return w.err
}

func (w *Writer) json(k kind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	return w.frame(k, text)
}

// blocks writes a frame of blocks.
func (w *Writer) blocks(k kind, all ...matrix.Block) error {
	w.slices = w.slices[:0]
	for _, b := range all {
		var err error
		if w.slices, err = blockio.Gather(w.slices, b); err != nil {
			return err
		}
	}
	defer clear(w.slices)
	return w.frame(k, w.slices...)
}

// keyBlock is keys as a block.
func keyBlock(keys []int64) matrix.Block {
	return matrix.Block{At: matrix.At(0, int64(len(keys)), 0, 1), Data: &matrix.Dense[int64]{Val: keys}}
}

// pairBlock is a row of two numbers for each.
func pairBlock(a, b []int64) matrix.Block {
	val := make([]int64, 0, 2*len(a))
	for i := range a {
		val = append(val, a[i], b[i])
	}
	return matrix.Block{At: matrix.At(0, int64(len(a)), 0, 2), Data: &matrix.Dense[int64]{Val: val}}
}

// partitionJSON is a Partition as it is written.
type partitionJSON struct {
	Matrix    string   `json:"matrix"`
	Partition int      `json:"partition"`
	Rows      [2]int64 `json:"rows"`
	Cols      [2]int64 `json:"cols"`
	Type      string   `json:"type"`
	Sparse    bool     `json:"sparse,omitempty"`
	Bits      int      `json:"bits,omitempty"`
	Slots     int      `json:"slots,omitempty"`
	Steps     int64    `json:"steps,omitempty"`
	Aged      bool     `json:"aged,omitempty"`
	Stale     bool     `json:"stale,omitempty"`
	Partial   bool     `json:"partial,omitempty"`
	Ranked    bool     `json:"ranked,omitempty"`
	Absent    []byte   `json:"absent,omitempty"` // little-endian
}

type endJSON struct {
	Count      int64 `json:"count"`
	Candidates int64 `json:"candidates,omitempty"`
	Removed    int64 `json:"removed,omitempty"`
}

// Begin begins the record of a partition.
func (w *Writer) Begin(p Partition) error {
	w.open, w.count, w.candidates, w.removed = &p, 0, 0, 0
	w.heads.Reset()
	return w.json(kindPartition, partitionJSON{
		Matrix: p.Matrix, Partition: p.ID, Rows: [2]int64{p.At.Rows.Lo, p.At.Rows.Hi}, Cols: [2]int64{p.At.Cols.Lo, p.At.Cols.Hi},
		Type: p.DType.String(), Sparse: p.Sparse, Bits: p.Bits, Slots: p.Slots, Steps: p.Steps, Aged: p.Aged, Stale: p.Stale,
		Ranked: p.Ranked, Partial: p.Partial, Absent: swapped([]byte(p.Absent), p.DType),
	})
}

// swapped is values in the other of this machine's order of bytes and that of streams.
func swapped(values []byte, d matrix.DType) []byte {
	wire.Swap(values, d.Size(), wire.Little)
	return values
}

// Band writes some of the record. The band must not change meanwhile; nothing of it is kept.
func (w *Writer) Band(b Band) error {
	switch {
	case b.Removed != nil:
		w.removed += int64(len(b.Removed))
		return w.blocks(kindRemoved, keyBlock(b.Removed))
	case b.Rates != nil:
		at := matrix.At(0, int64(len(b.Rates)), 0, 1)
		return w.blocks(kindRates, matrix.Block{At: at, Data: &matrix.Dense[float64]{Val: b.Rates}})
	case b.Keys != nil:
		return w.columns(b)
	}
	n, _ := b.Values[0].At.Cells()
	w.count += n
	return w.blocks(kindCells, b.Values...)
}

// Lend is Band for a band that does not change, with all memory that it has, before [Lent] - 1 more were lent: who makes bands in the
// memory of so many, one after the other, has none of them copied.
func (w *Writer) Lend(b Band) error {
	by, can := w.w.(lender)
	if !can {
		return w.Band(b)
	}
	w.lender = by
	err := w.Band(b)
	w.lender = nil
	by.Turn()
	return err
}

func (w *Writer) columns(b Band) error {
	k, blocks := kindColumns, []matrix.Block{keyBlock(b.Keys)}
	switch {
	case b.Counts != nil:
		w.candidates += int64(len(b.Keys))
		k, blocks = kindCandidates, append(blocks, pairBlock(b.Counts, b.Last))
	default:
		w.count += int64(len(b.Keys))
		blocks = append(blocks, b.Values[0])
		for _, steps := range [][]int64{b.Last, b.Stamps} {
			if steps != nil {
				blocks = append(blocks, keyBlock(steps))
			}
		}
	}
	if b.Ranks != nil {
		at := matrix.At(0, int64(len(b.Ranks)), 0, 1)
		blocks = append(blocks, matrix.Block{At: at, Data: &matrix.Dense[uint8]{Val: b.Ranks}})
	}
	return w.blocks(k, blocks...)
}

// End ends the record.
func (w *Writer) End() error { return w.json(kindEnd, endJSON{w.count, w.candidates, w.removed}) }

// Candidates is how many columns the record that was written last has that are not made.
func (w *Writer) Candidates() int64 { return w.candidates }

// Columns is how many columns the record has that was written last; 0 if it has cells.
func (w *Writer) Columns() int64 {
	if w.open == nil || !w.open.Sparse {
		return 0
	}
	return w.count
}
