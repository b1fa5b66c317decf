// Package boosting grows boosted trees through parameter servers. The process of task 0 reads all rows and sends the other workers theirs;
// then the histograms of a level of a tree are added up in a matrix on the servers (gbdt.Shape), where a function beside the cells finds
// the best split of each node (gbdt.SplitName); only that split comes back. It is no trainer: that is package gbdt, to which this one is
// the other workers.
//
// Each worker does the same in the same order, in steps that end with a clock under BSP:
//
//	matrix        pushed in a step                                       what is seen of it then
//	gbdt.scatter  task 0: 1 MiB of what the rows decided (gbdt.Setup),   those it is for: that
//	              of the trees to go on from, and of rows
//	gbdt.sums     task 0: numbers, in place of what was there; others:   the sums
//	              numbers, which are added to them
//	gbdt.hist     the same with histograms; the last task: the           the best splits, in the first columns of each block
//	              function that makes siblings by subtraction, and
//	              searches
//	gbdt.gather   in the end: scores of rows                             task 0: all of them
//
// Workers that all have all rows and share features (gbdt.Division), or that vote for features (gbdt.Vote), use the sums alone.
//
// Sums are of whole numbers and answers the same for all, so the trees are the same to the bit for any number of workers and servers. What
// a tree takes that is not on the servers: codes and labels of a worker's rows, and their scores, which follow from the trees before it.
package boosting

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thole.example/gbdt"
	"thole.example/matrix"
	"thole.example/ps"
)

// Names of the matrices.
const (
	sumsName = "gbdt.sums"
	histName = "gbdt.hist"
)

// sumsCols is how many numbers are added up in one step.
const sumsCols = 1 << 16

// leastBlocks is how many blocks a matrix has that few servers have: they are searched at the same time.
const leastBlocks = 8

// Blocks is into how many blocks histograms are cut for so many servers.
func Blocks(servers int) int { return servers * max(1, (leastBlocks+servers-1)/max(1, servers)) }

// Workers are the workers of a training, as one of them sees them: a gbdt.Exchange. It is for one goroutine, that of its client.
type Workers struct {
	client      *ps.Client
	task, tasks int
	sums        *ps.Matrix
	scattered   *ps.Matrix
	gathered    *ps.Matrix
	traffic     []Traffic

	shape *gbdt.Shape // nil: no histograms are added up
	hist  *ps.Matrix
}

// Traffic is what one worker sent and got for the nodes of one depth, in bytes of values.
type Traffic struct {
	Depth  int   `json:"depth"`
	Steps  int   `json:"steps"`  // exchanges
	Nodes  int   `json:"nodes"`  // whose splits were found
	Pushed int64 `json:"pushed"` // histograms
	Pulled int64 `json:"pulled"` // answers
}

// Join joins a training. The client is of a job under BSP that has no other use, with its functions (gbdt.Funcs); all of its tasks join.
func Join(ctx context.Context, c *ps.Client, task, tasks int) (*Workers, error) {
	w := &Workers{client: c, task: task, tasks: tasks}
	err := c.Create(ctx, "column", row(sumsName, sumsCols), row(scatterName, stepBytes/8), row(gatherName, sumsCols))
	if err == nil {
		w.sums, err = c.Matrix(sumsName)
	}
	if err == nil {
		w.scattered, err = c.Matrix(scatterName)
	}
	if err == nil {
		w.gathered, err = c.Matrix(gatherName)
	}
	return w, err
}

// row is a matrix of one row, on one server.
func row(name string, cols int64) matrix.Meta {
	return matrix.Meta{Name: name, Rows: 1, Cols: cols, BlockCols: cols, DType: matrix.I64}
}

// Use makes the matrix in which histograms are added up, of a shape that is the same for all workers.
func (w *Workers) Use(ctx context.Context, s *gbdt.Shape) (err error) {
	hist := matrix.Meta{Name: histName, Rows: s.Rows, Cols: s.Cols, BlockCols: s.Block, DType: matrix.I64, Attrs: s.Attrs}
	if err := w.client.Create(ctx, "column", hist); err != nil {
		return err
	}
	w.shape = s
	w.hist, err = w.client.Matrix(histName)
	return err
}

// cells are those of a matrix of one row, from a column on.
func cells(lo int, v []int64) matrix.Block {
	return matrix.Block{At: matrix.At(0, 1, int64(lo), int64(lo+len(v))), Data: &matrix.Dense[int64]{Val: v}}
}

// add is the first part of a step in which all tasks add up the same cells: those of task 0 take the place of what was there, as they come
// first, and the others are added to them. When what is pulled in the step is there the servers have seen v, and its memory may be used
// again.
func (w *Workers) add(name string, v matrix.Block) error {
	if w.task == 0 {
		return w.client.Assign(name, v)
	}
	return w.client.Push(name, v)
}

// Sum implements gbdt.Exchange.
func (w *Workers) Sum(ctx context.Context, v []int64) error {
	for some := range slices.Chunk(v, sumsCols) {
		if err := w.add(sumsName, cells(0, some)); err != nil {
			return err
		}
		sums, err := w.nextSums(ctx, len(some))
		if err != nil {
			return err
		}
		copy(some, sums)
	}
	return nil
}

// nextSums ends a step, and gives the first n numbers of the matrix of sums.
func (w *Workers) nextSums(ctx context.Context, n int) ([]int64, error) {
	got, err := w.sums.NextRects(ctx, 0, 0, []matrix.Rect{matrix.At(0, 1, 0, int64(n))})
	if err != nil {
		return nil, err
	}
	return got[0].Data.(*matrix.Dense[int64]).Val, nil
}

// AllGather gives all tasks what each of the tasks has, as many numbers of all, in their order.
func (w *Workers) AllGather(ctx context.Context, v []int64) ([][]int64, error) {
	out, each := make([][]int64, w.tasks), sumsCols/w.tasks
	if each == 0 {
		return nil, fmt.Errorf("%d tasks, want at most %d", w.tasks, sumsCols)
	}
	for some := range slices.Chunk(v, each) {
		n := len(some)
		if err := w.client.Assign(sumsName, cells(w.task*n, some)); err != nil {
			return nil, err
		}
		all, err := w.nextSums(ctx, w.tasks*n)
		if err != nil {
			return nil, err
		}
		for t := range out {
			out[t] = append(out[t], all[t*n:(t+1)*n]...)
		}
	}
	return out, nil
}

// Agree is what a gbdt.Division of these workers calls.
func (w *Workers) Agree(ctx context.Context, depth, nodes int, v []int64) ([][]int64, error) {
	n := 8 * int64(len(v))
	w.count(depth, nodes, n, n*int64(w.tasks))
	return w.AllGather(ctx, v)
}

// Most implements gbdt.Exchange.
func (w *Workers) Most(ctx context.Context, v []float32) error {
	bits := make([]int64, len(v))
	for i, x := range v {
		bits[i] = int64(math.Float32bits(x))
	}
	all, err := w.AllGather(ctx, bits)
	if err != nil {
		return err
	}
	for _, of := range all {
		for i, x := range of {
			v[i] = max(v[i], math.Float32frombits(uint32(x))) // which keeps NaN
		}
	}
	return nil
}

// Splits implements gbdt.Exchange.
func (w *Workers) Splits(ctx context.Context, q *gbdt.Query) error {
	if err := w.push(q); err != nil {
		return err
	}
	if w.task == w.tasks-1 { // comes after it
		if err := w.hist.Stage(gbdt.SplitName, q.Args); err != nil {
			return err
		}
	}
	var rects []matrix.Rect
	for lo := int64(0); lo < w.shape.Cols; lo += w.shape.Block {
		rects = append(rects, matrix.At(0, q.Nodes, lo, lo+w.shape.Answer))
	}
	got, err := w.hist.NextRects(ctx, 0, 0, rects)
	if err != nil {
		return err
	}
	w.count(q.Depth, int(q.Nodes), 8*int64(len(q.Sums)), 8*int64(len(rects))*q.Nodes*w.shape.Answer)
	for i, b := range got {
		if err := q.Take(b.Data.(*matrix.Dense[int64]).Val); err != nil {
			return fmt.Errorf("matrix %s, block %d: %w", histName, i, err)
		}
	}
	return nil
}

// push adds the sums of a query as they lie there: the cells of a block in rows that follow each other.
func (w *Workers) push(q *gbdt.Query) error {
	wide := w.shape.Block
	for lo, n := 0, len(q.Fresh); lo < n; {
		hi := lo + 1
		for hi < n && q.Fresh[hi] == q.Fresh[hi-1]+1 {
			hi++
		}
		for b := range w.shape.Blocks() {
			at := matrix.At(q.Fresh[lo], q.Fresh[hi-1]+1, b*wide, (b+1)*wide)
			first := b * int64(n) * wide
			some := q.Sums[first+int64(lo)*wide : first+int64(hi)*wide]
			if err := w.add(histName, matrix.Block{At: at, Data: &matrix.Dense[int64]{Val: some}}); err != nil {
				return err
			}
		}
		lo = hi
	}
	return nil
}

// Add is what a gbdt.Vote of these workers calls: Sum, of which Traffic tells.
func (w *Workers) Add(ctx context.Context, depth int, v []int64) error {
	w.count(depth, 0, 8*int64(len(v)), 8*int64(len(v)))
	return w.Sum(ctx, v)
}

// count counts what a search for the splits of some nodes took.
func (w *Workers) count(depth, nodes int, pushed, pulled int64) {
	for len(w.traffic) <= depth {
		w.traffic = append(w.traffic, Traffic{Depth: len(w.traffic)})
	}
	t := &w.traffic[depth]
	if nodes > 0 { // else it is a part of a step
		t.Steps++
	}
	t.Nodes += nodes
	t.Pushed += pushed
	t.Pulled += pulled
}

// Traffic is what this worker sent and got so far, by the depth of the nodes. The sums of single numbers are not in it.
func (w *Workers) Traffic() []Traffic { return w.traffic }
