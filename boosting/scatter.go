package boosting

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"thole.example/gbdt"
	"thole.example/kernel"
	"thole.example/matrix"
)

// One process reads the examples, that of task 0. What it knows of them, and the rows of the others, go through one more matrix, in steps
// of at most stepBytes, so that servers hold no more than that:
//
//	16 bytes  length and checksum (CRC-32C) of what comes next
//	Scatter   as JSON
//	shards    rows as Setup.Pack has them, and their checksum, one shard after the other; each worker pulls only its own
//
// The cells of the matrix are the bytes of a step, 8 in each.

// scatterName is the matrix.
const scatterName = "gbdt.scatter"

const stepBytes = 1 << 20

// Scatter is what task 0 sends to the other workers: the setup and the trees to go on from to all of them, and then each shard to its task.
type Scatter struct {
	Setup  *gbdt.Setup
	Grown  *gbdt.Grown // nil: the training begins
	Shards []Shard     // in the order in which they are sent
}

// Shard is the rows Lo to Hi, which are sent to a task, or to AllTasks.
type Shard struct {
	Task   int
	Lo, Hi int
}

// Tasks that are none.
const (
	AllTasks = -1 // a shard is for all tasks
	NoTask   = -2 // no shard is received
)

// scatterText is a Scatter as JSON.
type scatterText struct {
	Setup  json.RawMessage
	Grown  json.RawMessage `json:",omitempty"`
	Shards []Shard
}

// Scatter sends the setup and the shards, whose rows code makes, to the others, who call AwaitScatter and Receive. Only task 0 does.
func (w *Workers) Scatter(ctx context.Context, d *Scatter, code func(Shard) (*gbdt.Binned, *gbdt.Labels, error)) error {
	setup, err := d.Setup.JSON()
	if err != nil {
		return err
	}
	of := scatterText{Setup: setup, Shards: d.Shards}
	if d.Grown != nil {
		if of.Grown, err = d.Grown.JSON(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	head = binary.LittleEndian.AppendUint64(head, uint64(kernel.CRC32C(0, text)))
	for _, some := range [][]byte{head, text} {
		if err := w.sendBytes(ctx, some); err != nil {
			return err
		}
	}
	for _, rows := range d.Shards {
		b, y, err := code(rows)
		if err != nil {
			return err
		}
		packed := d.Setup.Pack(nil, b, y)
		packed = binary.LittleEndian.AppendUint32(packed, kernel.CRC32C(0, packed))
		if err := w.sendBytes(ctx, packed); err != nil {
			return err
		}
	}
	return nil
}

// AwaitScatter waits for what task 0 sends to all.
func (w *Workers) AwaitScatter(ctx context.Context) (*Scatter, error) {
	head, err := w.receiveBytes(ctx, 16, nil)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head)
	if n > 1<<40 {
		return nil, fmt.Errorf("matrix %s: task 0 sends %d bytes, want at most %d", scatterName, n, 1<<40)
	}
	text, err := w.receiveBytes(ctx, int64(n), nil)
	if err != nil {
		return nil, err
	}
	if sum := uint64(kernel.CRC32C(0, text)); sum != binary.LittleEndian.Uint64(head[8:]) {
		return nil, fmt.Errorf("matrix %s: what task 0 sent came with another checksum", scatterName)
	}
	return parseScatter(text)
}

// parseScatter reads the text of a Scatter.
func parseScatter(text []byte) (*Scatter, error) {
	var t scatterText
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("matrix %s: %w", scatterName, err)
	}
	setup, err := gbdt.ParseSetup(t.Setup)
	if err != nil {
		return nil, fmt.Errorf("matrix %s: %w", scatterName, err)
	}
	d := &Scatter{Setup: setup, Shards: t.Shards}
	if t.Grown != nil {
		if d.Grown, err = gbdt.ParseGrown(t.Grown); err != nil {
			return nil, fmt.Errorf("matrix %s: %w", scatterName, err)
		}
	}
	seen := map[int]bool{}
	for _, r := range t.Shards {
		if r.Task < AllTasks || r.Lo < 0 || r.Hi < r.Lo || r.Hi > setup.Layout.Rows() {
			return nil, fmt.Errorf("matrix %s: rows %d to %d of task %d, want some of %d", scatterName, r.Lo, r.Hi, r.Task, setup.Layout.Rows())
		}
		if seen[r.Task] {
			return nil, fmt.Errorf("matrix %s: rows of task %d twice", scatterName, r.Task)
		}
		seen[r.Task] = true
	}
	return d, nil
}

// Receive waits until all shards were sent, and gives the rows of the one for the task, or AllTasks: an error if there is none, nil to
// NoTask. told, which may be nil, is called with how many bytes have come.
func (w *Workers) Receive(
	ctx context.Context, d *Scatter, task int, told func(done, total int64),
) (b *gbdt.Binned, y *gbdt.Labels, err error) {
	for _, rows := range d.Shards {
		n := d.Setup.ShardLen(rows.Hi-rows.Lo) + crc32.Size
		if rows.Task != task {
			if err := w.skipBytes(ctx, n); err != nil {
				return nil, nil, err
			}
			continue
		}
		packed, err := w.receiveBytes(ctx, n, told)
		if err != nil {
			return nil, nil, err
		}
		packed, sum := packed[:n-crc32.Size], packed[n-crc32.Size:]
		if kernel.CRC32C(0, packed) != binary.LittleEndian.Uint32(sum) {
			return nil, nil, fmt.Errorf("matrix %s: rows %d to %d came with another checksum", scatterName, rows.Lo, rows.Hi)
		}
		if b, y, err = d.Setup.Unpack(rows.Lo, rows.Hi, packed); err != nil {
			return nil, nil, fmt.Errorf("matrix %s: rows %d to %d: %w", scatterName, rows.Lo, rows.Hi, err)
		}
	}
	if b == nil && task != NoTask {
		return nil, nil, fmt.Errorf("matrix %s: task 0 sends shards %v, want one of task %d, too", scatterName, d.Shards, task)
	}
	return b, y, nil
}

// sendBytes sends bytes to those who receive or skip as many.
func (w *Workers) sendBytes(ctx context.Context, all []byte) error {
	for some := range slices.Chunk(all, stepBytes) {
		step := make([]int64, (len(some)+7)/8)
		for i := range step {
			step[i] = cellOf(some[8*i:])
		}
		if err := w.client.Assign(scatterName, cells(0, step)); err != nil {
			return err
		}
		if _, err := w.scattered.NextRects(ctx, 0, 0, []matrix.Rect{matrix.At(0, 1, 0, 1)}); err != nil { // which waits for the others
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

// receiveBytes waits for so many bytes that are sent.
func (w *Workers) receiveBytes(ctx context.Context, n int64, told func(done, total int64)) ([]byte, error) {
	all := make([]byte, 0, min(n, firstRoom)+8)
	for left := n; left > 0; left = n - int64(len(all)) {
		some := min(left, stepBytes)
		got, err := w.scattered.NextRects(ctx, 0, 0, []matrix.Rect{matrix.At(0, 1, 0, (some+7)/8)})
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

// skipBytes lets so many bytes pass that others receive.
func (w *Workers) skipBytes(ctx context.Context, n int64) error {
	for ; n > 0; n -= stepBytes {
		if err := w.scattered.Clock(ctx, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// gatherName is the matrix by which task 0 gets what each of the others has.
const gatherName = "gbdt.gather"

// Gather gives task 0 what each of the tasks has, as many numbers of all, in their order; the others get nothing.
func (w *Workers) Gather(ctx context.Context, v []int64) (all [][]int64, err error) {
	each := sumsCols / w.tasks // cells of a task
	if each == 0 {
		return nil, fmt.Errorf("%d tasks, want at most %d", w.tasks, sumsCols)
	}
	all = make([][]int64, w.tasks)
	for some := range slices.Chunk(v, each) {
		if err := w.client.Assign(gatherName, cells(w.task*each, some)); err != nil {
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
		got, err := w.gathered.NextRects(ctx, 0, 0, rects)
		if err != nil {
			return nil, err
		}
		for t := range all {
			all[t] = append(all[t], got[t].Data.(*matrix.Dense[int64]).Val...)
		}
	}
	return all, nil
}
