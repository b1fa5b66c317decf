package boosting

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"thole.example/gbdt"
	"thole.example/matrix"
)

// One process reads the examples, that of task 0. What it knows of them goes to the others through one more matrix, in steps of at most
// stepBytes, so that servers hold no more than that:
//
//	16 bytes  length and checksum (CRC-32C) of what comes next
//	Deal      as JSON
//	rows      as Setup.Pack has them, and their checksum, those of one Rows after the other; each worker pulls only its own
//
// The cells of the matrix are the bytes of a step, 8 in each. They are added to like all cells: task 0 pushes what they are more than in
// the step before.

// dealName is the matrix.
const dealName = "gbdt.deal"

const stepBytes = 1 << 20

// Deal is what workers are told before they get rows.
type Deal struct {
	Setup *gbdt.Setup
	Rows  []Rows // that are sent, in this order
}

// Rows are rows that are sent to a task.
type Rows struct {
	Task   int // -1: to whoever wants them
	Lo, Hi int
}

// dealText is a Deal as JSON.
type dealText struct {
	Setup json.RawMessage
	Rows  []Rows
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Give sends a deal and its rows, which share makes, to the others, who call Hear and Take. Only task 0 does.
func (w *Workers) Give(ctx context.Context, d *Deal, share func(Rows) (*gbdt.Binned, *gbdt.Labels, error)) error {
	setup, err := d.Setup.JSON()
	if err != nil {
		return err
	}
	text, err := json.Marshal(dealText{setup, d.Rows})
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	head = binary.LittleEndian.AppendUint64(head, uint64(crc32.Checksum(text, castagnoli)))
	for _, some := range [][]byte{head, text} {
		if err := w.send(ctx, some); err != nil {
			return err
		}
	}
	for _, rows := range d.Rows {
		b, y, err := share(rows)
		if err != nil {
			return err
		}
		packed := d.Setup.Pack(nil, b, y)
		packed = binary.LittleEndian.AppendUint32(packed, crc32.Checksum(packed, castagnoli))
		if err := w.send(ctx, packed); err != nil {
			return err
		}
	}
	return nil
}

// Hear waits for the deal that task 0 gives.
func (w *Workers) Hear(ctx context.Context) (*Deal, error) {
	head, err := w.receive(ctx, 16, nil)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head)
	if n > 1<<40 {
		return nil, fmt.Errorf("matrix %s: task 0 gives %d bytes, want at most %d", dealName, n, 1<<40)
	}
	text, err := w.receive(ctx, int64(n), nil)
	if err != nil {
		return nil, err
	}
	if sum := uint64(crc32.Checksum(text, castagnoli)); sum != binary.LittleEndian.Uint64(head[8:]) {
		return nil, fmt.Errorf("matrix %s: what task 0 gives came with another checksum", dealName)
	}
	return parseDeal(text)
}

// parseDeal reads the text of a deal.
func parseDeal(text []byte) (*Deal, error) {
	var t dealText
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("matrix %s: %w", dealName, err)
	}
	setup, err := gbdt.ParseSetup(t.Setup)
	if err != nil {
		return nil, fmt.Errorf("matrix %s: %w", dealName, err)
	}
	seen := map[int]bool{}
	for _, r := range t.Rows {
		if r.Task < -1 || r.Lo < 0 || r.Hi < r.Lo || r.Hi > setup.Layout.Rows() {
			return nil, fmt.Errorf("matrix %s: rows %d to %d of task %d, want some of %d", dealName, r.Lo, r.Hi, r.Task, setup.Layout.Rows())
		}
		if seen[r.Task] {
			return nil, fmt.Errorf("matrix %s: rows of task %d twice", dealName, r.Task)
		}
		seen[r.Task] = true
	}
	return &Deal{Setup: setup, Rows: t.Rows}, nil
}

// Nobody is a task that takes no rows.
const Nobody = -2

// Take waits until all rows of the deal were sent, and gives those of the task (see Rows): an error if there are none, nil to Nobody. It
// tells how many bytes have come; told may be nil.
func (w *Workers) Take(ctx context.Context, d *Deal, task int, told func(done, total int64)) (b *gbdt.Binned, y *gbdt.Labels, err error) {
	for _, rows := range d.Rows {
		n := d.Setup.ShareLen(rows.Hi-rows.Lo) + crc32.Size
		if rows.Task != task {
			if err := w.skip(ctx, n); err != nil {
				return nil, nil, err
			}
			continue
		}
		packed, err := w.receive(ctx, n, told)
		if err != nil {
			return nil, nil, err
		}
		packed, sum := packed[:n-crc32.Size], packed[n-crc32.Size:]
		if crc32.Checksum(packed, castagnoli) != binary.LittleEndian.Uint32(sum) {
			return nil, nil, fmt.Errorf("matrix %s: rows %d to %d came with another checksum", dealName, rows.Lo, rows.Hi)
		}
		if b, y, err = d.Setup.Unpack(rows.Lo, rows.Hi, packed); err != nil {
			return nil, nil, fmt.Errorf("matrix %s: rows %d to %d: %w", dealName, rows.Lo, rows.Hi, err)
		}
	}
	if b == nil && task != Nobody {
		return nil, nil, fmt.Errorf("matrix %s: task 0 gives rows of %v, want some of task %d, too", dealName, d.Rows, task)
	}
	return b, y, nil
}

// send gives bytes to those who receive as many.
func (w *Workers) send(ctx context.Context, all []byte) error {
	for some := range slices.Chunk(all, stepBytes) {
		cells := make([]int64, (len(some)+7)/8)
		for i := range cells {
			now := cellOf(some[8*i:])
			cells[i], w.dealt[i] = now-w.dealt[i], now
		}
		at := matrix.At(0, 1, 0, int64(len(cells)))
		if err := w.client.Push(dealName, matrix.Block{At: at, Data: &matrix.Dense[int64]{Val: cells}}); err != nil {
			return err
		}
		if _, err := w.deal.NextRects(ctx, 0, 0, []matrix.Rect{matrix.At(0, 1, 0, 1)}); err != nil { // which waits for the others
			return err
		}
	}
	return nil
}

// cellOf is the cell of up to 8 bytes.
func cellOf(b []byte) int64 {
	if len(b) >= 8 {
		return int64(binary.LittleEndian.Uint64(b))
	}
	var last [8]byte
	copy(last[:], b)
	return int64(binary.LittleEndian.Uint64(last[:]))
}

// firstRoom is how many bytes there is room for before any has come.
const firstRoom = 64 << 20

// receive waits for so many bytes that are sent.
func (w *Workers) receive(ctx context.Context, n int64, told func(done, total int64)) ([]byte, error) {
	all := make([]byte, 0, min(n, firstRoom)+8)
	for left := n; left > 0; left = n - int64(len(all)) {
		some := min(left, stepBytes)
		got, err := w.deal.NextRects(ctx, 0, 0, []matrix.Rect{matrix.At(0, 1, 0, (some+7)/8)})
		if err != nil {
			return nil, err
		}
		end := len(all) + int(some)
		for _, cell := range got[0].Data.(*matrix.Dense[int64]).Val {
			all = binary.LittleEndian.AppendUint64(all, uint64(cell))
		}
		if all = all[:end]; told != nil {
			told(int64(end), n)
		}
	}
	return all, nil
}

// skip lets so many bytes pass that others receive.
func (w *Workers) skip(ctx context.Context, n int64) error {
	for ; n > 0; n -= stepBytes {
		if err := w.deal.Clock(ctx, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// foundName is the matrix by which task 0 gets what the others found.
const foundName = "gbdt.found"

// Collect gives task 0 what each of the tasks has, as many numbers of all, in their order; the others get nothing. All call it once.
func (w *Workers) Collect(ctx context.Context, v []int64) (all [][]int64, err error) {
	each := sumsCols / w.tasks // cells of a task
	if each == 0 {
		return nil, fmt.Errorf("%d tasks, want at most %d", w.tasks, sumsCols)
	}
	all = make([][]int64, w.tasks)
	was, first := make([]int64, min(each, len(v))), int64(w.task*each)
	for some := range slices.Chunk(v, each) {
		more := make([]int64, len(some))
		for i, now := range some {
			more[i], was[i] = now-was[i], now
		}
		delta := matrix.Block{At: matrix.At(0, 1, first, first+int64(len(some))), Data: &matrix.Dense[int64]{Val: more}}
		if err := w.client.Push(foundName, delta); err != nil {
			return nil, err
		}
		var rects []matrix.Rect
		for t := range int64(w.tasks) {
			rects = append(rects, matrix.At(0, 1, t*int64(each), t*int64(each)+int64(len(some))))
		}
		if w.task > 0 { // which waits for the others
			rects, all = rects[:1], nil
			rects[0].Cols.Hi = 1
		}
		got, err := w.found.NextRects(ctx, 0, 0, rects)
		if err != nil {
			return nil, err
		}
		for t := range all {
			all[t] = append(all[t], got[t].Data.(*matrix.Dense[int64]).Val...)
		}
	}
	return all, nil
}
