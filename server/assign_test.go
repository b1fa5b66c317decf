package server_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// written is something that a task writes in a clock: values for columns of all rows.
type written struct {
	assign bool
	how    string // "block", "row" (of a dense block), "rows" (CSR), "keys"
	cols   []int64
	val    []float64 // column after column
}

const writtenRows = 2

func drawWritten(t *rapid.T, cols int64) (w written) {
	w.assign = rapid.Bool().Draw(t, "assign")
	w.how = rapid.SampledFrom([]string{"block", "row", "rows", "keys"}).Draw(t, "how")
	w.cols = rapid.SliceOfN(rapid.Int64Range(0, cols-1), 1, 12).Draw(t, "columns") // some twice
	switch w.how {
	case "row": // beside each other
		lo, n := w.cols[0], min(int64(len(w.cols)), cols-w.cols[0])
		w.cols = nil
		for i := range n {
			w.cols = append(w.cols, lo+i)
		}
	case "block", "rows":
		slices.Sort(w.cols)
		w.cols = slices.Compact(w.cols)
	}
	for range len(w.cols) * writtenRows {
		w.val = append(w.val, float64(rapid.IntRange(-9, 9).Draw(t, "value")))
	}
	return w
}

// block is what is written, for Push and Assign.
func (w *written) block(cols int64) matrix.Block {
	at := matrix.At(0, writtenRows, 0, cols)
	switch w.how {
	case "row":
		at.Cols = matrix.Range{Lo: w.cols[0], Hi: w.cols[0] + int64(len(w.cols))}
		return matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: w.cols, Val: w.val}}.ToDense()
	case "rows":
		d := &matrix.CSR[float64]{Ptr: []int{0}} // zeros are cells like others
		for r := range writtenRows {
			for i, col := range w.cols {
				d.Idx, d.Val = append(d.Idx, col), append(d.Val, w.val[i*writtenRows+r])
			}
			d.Ptr = append(d.Ptr, len(d.Idx))
		}
		return matrix.Block{At: at, Data: d}
	}
	return matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: w.cols, Val: w.val}}
}

func (w *written) write(m *ps.Matrix, cols int64) error {
	if w.how != "keys" {
		if w.assign {
			return m.Assign(w.block(cols))
		}
		return m.Increment(w.block(cols))
	}
	k, err := m.Plan(nil, w.cols)
	switch {
	case err != nil:
		return err
	case w.assign:
		return ps.AssignKeys(m, k, w.val)
	}
	return ps.PushKeys(m, k, w.val)
}

// model is the cells as they have to be.
type model struct {
	cells map[[2]int64]float64
	sum   map[[2]int64]float64 // of the gradients of a clock
}

func (m *model) take(w *written, into map[[2]int64]float64) {
	for i, col := range w.cols {
		for r := range writtenRows {
			at, v := [2]int64{int64(r), col}, w.val[i*writtenRows+r]
			if w.assign {
				into[at] = v
			} else {
				into[at] += v
			}
		}
	}
}

// clock takes what the tasks wrote in a clock, in their order; with a rule its step, of sgd with rate 1, comes first.
func (m *model) clock(tasks [][]written, rule bool) {
	m.sum = map[[2]int64]float64{}
	for _, task := range tasks {
		for i := range task {
			if w := &task[i]; rule && !w.assign {
				m.take(w, m.sum)
			}
		}
	}
	for at, g := range m.sum {
		m.cells[at] -= g
	}
	for _, task := range tasks {
		for i := range task {
			if w := &task[i]; !rule || w.assign {
				m.take(w, m.cells)
			}
		}
	}
}

// story is what tasks write in each clock, and what they see.
type story struct {
	writes [][][]written            // by clock and task
	own    [][]map[[2]int64]float64 // the cells before the end of the clock, with the task's own writes
	end    map[[2]int64]float64
}

func drawStory(t *rapid.T, tasks int, cols int64, rule bool) (s story) {
	m := model{cells: map[[2]int64]float64{}}
	for range rapid.IntRange(1, 3).Draw(t, "clocks") {
		clock, own := make([][]written, tasks), make([]map[[2]int64]float64, tasks)
		for task := range clock {
			own[task] = maps.Clone(m.cells)
			for range rapid.IntRange(0, 4).Draw(t, "writes") {
				w := drawWritten(t, cols)
				clock[task] = append(clock[task], w)
				m.take(&w, own[task])
			}
		}
		m.clock(clock, rule)
		s.writes, s.own = append(s.writes, clock), append(s.own, own)
	}
	s.end = m.cells
	return s
}

// cellsAre wants the cells of the matrix to be those of the map.
func cellsAre(ctx context.Context, m *ps.Matrix, cols int64, want map[[2]int64]float64) error {
	keys := make([]int64, cols)
	for i := range keys {
		keys[i] = int64(i)
	}
	got := make([]float64, writtenRows*cols)
	k, err := m.Plan(nil, keys)
	if err == nil {
		err = ps.PullKeys(ctx, m, k, got)
	}
	for i, v := range got {
		if at := [2]int64{int64(i) % writtenRows, int64(i) / writtenRows}; v != want[at] && err == nil {
			err = fmt.Errorf("at clock %d cell %v is %v, want %v", m.Now(), at, v, want[at])
		}
	}
	return err
}

// TestAssign: under BSP cells are what tasks pushed and assigned, in the order of clocks and tasks, however the matrix is cut; what
// is assigned comes after the step of a rule, and needs none.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const cols = 60
		layout := rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(r, "layout")
		rule := rapid.SampledFrom([]string{"", "sgd"}).Draw(r, "rule")
		own := rule == "" && rapid.Bool().Draw(r, "one's own writes are seen")
		tasks, servers := rapid.IntRange(1, 3).Draw(r, "tasks"), rapid.IntRange(1, 3).Draw(r, "servers")
		s := drawStory(r, tasks, cols, rule != "")
		newCluster(t, &mem.Network{}, servers).run(tasks, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
			described := ps.NewModel("m", writtenRows, cols)
			described.SetReadMyWrites(own)
			described.SetMeta(func(m *matrix.Meta) { m.DType, m.Layout, m.Rule = matrix.F64, layout, rule })
			ms, err := p.CreateModels(ctx, described)
			if err != nil {
				return err
			}
			for clock, writes := range s.writes {
				for i := range writes[task] {
					if err := writes[task][i].write(ms[0], cols); err != nil {
						return err
					}
				}
				if own {
					if err := cellsAre(ctx, ms[0], cols, s.own[clock][task]); err != nil {
						return err
					}
				}
				weight := 0.0 // the gradients of a clock are those of one example
				if task == 0 {
					weight = 1
				}
				if err := p.Clock(ctx, weight, 1); err != nil {
					return err
				}
			}
			return cellsAre(ctx, ms[0], cols, s.end)
		})
	})
}
