package main

import (
	"fmt"
	"sync"

	"thole.example/format"
	"thole.example/graph"
	"thole.example/layer"
	"thole.example/matrix"
	"thole.example/optim"
)

// perExample is how many values an example has, rounded up: as many as fields, or on average.
func (p *plan) perExample() int64 {
	rows := int64(max(1, p.train.Len()))
	return max(int64(p.train.Fields), (int64(p.train.Values())+rows-1)/rows)
}

// checkOutputs refuses vectors of which an example gives more numbers than a layer may have outputs. Layers whose number of fields the
// network says have seen to that themselves.
func (p *plan) checkOutputs(m *graph.Model) error {
	n := p.perExample()
	for _, node := range m.Nodes {
		if s := node.Layer.Shape(); s.Ragged && int64(s.Factors) > layer.OutputLimit/max(1, n) {
			return fmt.Errorf("layer %q: %d numbers for each of %d values of an example, want at most %d in all (fewer --factors)",
				node.Layer.Name(), s.Factors, n, layer.OutputLimit)
		}
	}
	return nil
}

// copies is how often a task has the weights of a batch: as they are and their gradients, each also as a message.
const copies = 4

// room refuses a training that cannot fit the memory that is available on a machine which has the servers, too; 0: nobody knows. What
// it counts is taken in any case: the weights with what rules keep beside them, those of a batch in each task, and its outputs.
func (p *plan) room(m *graph.Model, available int64) error {
	tables, batch, outputs := p.takes(m)
	if all := tables + batch + outputs; available > 0 && all > float64(available) {
		return fmt.Errorf("it takes %s of memory at least (weights with what their rules keep %s, those of a batch %s, outputs %s), and %s is "+
			"available; a smaller network or --batch takes less", sizeText(all), sizeText(tables), sizeText(batch), sizeText(outputs),
			format.Bytes(available))
	}
	return nil
}

// takes is how many bytes a training takes at least: the weights, those of a batch in each task, and its outputs.
func (p *plan) takes(m *graph.Model) (tables, batch, outputs float64) {
	const size = 4 // bytes of a float32
	examples := float64(min(p.batch, p.train.Len()))
	values := float64(p.perExample()) * examples
	keys := sync.OnceValue(p.train.Keys)
	for _, one := range m.Params() {
		rows, cols, slots := float64(one.Rows), float64(one.Cols), 0
		if rule, err := optim.Find(nil, one.Rule); err == nil { // which is checked where it is used
			slots = rule.Slots + one.Keep.CountSlots(one.Rows)
		}
		switch {
		case one.Layout == matrix.RowDense:
			tables += rows * cols * size * float64(1+slots)
		case one.Keep == matrix.Keep{} && one.Storage == matrix.Invalid:
			tables += min(rows*cols, storedCells(&one.Meta, keys())) * size * float64(1+slots)
		}
		if one.Features {
			cols = min(cols, values)
		} else {
			cols *= float64(p.tasks)
		}
		batch += rows * cols * size * copies
	}
	for _, node := range m.Nodes {
		s := node.Layer.Shape()
		each := float64(s.Cols) * examples
		if s.Ragged {
			each = float64(s.Factors) * values
		}
		outputs += each * size * 2 // and their gradients
	}
	return tables, batch, outputs
}

// storedCells is how many cells columns of a sparse matrix store.
func storedCells(m *matrix.Meta, columns []int64) float64 {
	if len(m.Widths) == 0 {
		return float64(m.Rows) * float64(len(columns))
	}
	n := 0.0
	for _, col := range columns {
		n += float64(m.RowsOf(col))
	}
	return n
}

func sizeText(n float64) string { return format.Bytes(int64(min(n, 1<<62))) }
