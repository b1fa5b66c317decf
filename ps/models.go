package ps

import (
	"context"
	"fmt"
	"reflect"

	"thole.example/matrix"
	"thole.example/rpc"
)

// CreateModels makes the matrices on the servers and gives their handles. Those with a load path are loaded, and it returns when
// they are: if there are any, it waits until all tasks of the job have come to it, and moves the task's own clock on by one.
// Every task calls it with the same descriptions, in the same order. If it fails, some of the matrices may be there.
func (c *Client) CreateModels(ctx context.Context, models ...*Model) ([]*Matrix, error) {
	metas := make([]matrix.Meta, len(models))
	for i, m := range models {
		if m.err != nil {
			return nil, m.err
		}
		layout, err := c.layoutOf(ctx, m)
		if err != nil {
			return nil, err
		}
		metas[i] = m.describe(layout)
		if _, err := gatheringOf(m.oplog, &metas[i]); err != nil {
			return nil, err
		}
		if err := fitsWire(&metas[i], m.wire); err != nil {
			return nil, err
		}
	}
	handles, loads := make([]*Matrix, len(models)), []*Model{}
	for i, m := range models {
		name := metas[i].Name
		fresh := c.mats[name] == nil
		m.ownBound(c, name)
		if err := c.Create(ctx, m.partitioner(), metas[i]); err != nil {
			return nil, err
		}
		handles[i] = c.mats[name]
		if err := m.adopt(handles[i]); err != nil {
			return nil, err
		}
		if fresh && m.load.Path != "" {
			loads = append(loads, m)
		}
	}
	if len(loads) == 0 {
		return handles, nil
	}
	return handles, c.loadModels(ctx, loads)
}

// loadModels loads the models, by the first task, and waits for it.
func (c *Client) loadModels(ctx context.Context, models []*Model) error {
	if c.o.Task == 0 {
		for _, m := range models {
			o := m.load
			o.Matrices, o.Partial = []string{m.handle.meta.Name}, true
			if err := c.Load(ctx, o); err != nil {
				return err
			}
		}
	}
	if c.o.Tasks < 2 {
		return nil
	}
	if err := c.begin(ctx, "load", nil); err != nil {
		return err
	}
	err := c.syncTicks(ctx, ticks{own: true})
	c.end()
	if err != nil {
		return err
	}
	return c.Barrier(ctx)
}

// fullShare is the share of cells with a value other than zero, as one in so many, from which on T_INT_ARBITRARY is dense.
const fullShare = 4

// layoutOf is how the matrix is held: that of its row type, or for T_INT_ARBITRARY what suits the model at the load path.
func (c *Client) layoutOf(ctx context.Context, m *Model) (matrix.Layout, error) {
	if m.rowType != matrix.IntArbitrary || m.load.Path == "" {
		return m.rowType.Layout(), nil
	}
	if err := c.begin(ctx, "look at "+m.load.Path, nil); err != nil {
		return 0, err
	}
	defer c.end()
	q, err := control(rpc.OpLook, rpc.Look{Path: m.load.Path, Codec: m.load.Codec, Set: m.load.Set, Matrix: m.meta.Name})
	if err != nil {
		return 0, err
	}
	xs, err := c.ask(ctx, []*rpc.Request{q}) // the first server: all see the same
	if err != nil {
		return 0, err
	}
	var stored rpc.Looked
	if err := xs[0].link.read(xs[0].resp, &stored); err != nil {
		return 0, err
	}
	cells, ok := matrix.Cells(m.meta.Rows, m.meta.Cols)
	if ok && stored.Values >= (cells+fullShare-1)/fullShare {
		return matrix.RowDense, nil
	}
	return matrix.RowSparse, nil
}

// SaveModels saves those of the models that need it, to their save paths: the matrices of one path as one model, which becomes
// visible at once. Without a format they are saved in Angel's. Models without a path are left out. One task of the job calls it,
// when the others' last steps are made (see [Client.Barrier]).
func (c *Client) SaveModels(ctx context.Context, models ...*Model) error {
	var saves []SaveOptions
	for _, m := range models {
		if !m.needSave || m.save.Path == "" {
			continue
		}
		if m.handle == nil || m.handle.c != c {
			return fmt.Errorf("ps: matrix %s is to be saved to %s, and was not created by this client", m.meta.Name, m.save.Path)
		}
		o := m.save
		o.Matrices = nil
		if o.Codec == "" {
			o.Codec = "angel"
		}
		at := -1
		for i := range saves {
			same := saves[i]
			same.Matrices = nil
			switch {
			case same.Path != o.Path:
			case !reflect.DeepEqual(same, o):
				return fmt.Errorf("ps: matrices %s and %s are to be saved to %s with different options, want the same, or another path",
					saves[i].Matrices[0], m.meta.Name, o.Path)
			default:
				at = i
			}
		}
		if at < 0 {
			at = len(saves)
			saves = append(saves, o)
		}
		saves[at].Matrices = append(saves[at].Matrices, m.handle.meta.Name)
	}
	for _, o := range saves {
		if err := c.Save(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// SetFilter sets the threshold up to which increments are not sent, as [Model.SetFilter] does; below 0 all are sent, and with
// the next Flush or Clock what was kept, too.
func (m *Matrix) SetFilter(threshold float64) {
	if !(threshold >= 0) {
		threshold = unfiltered
	}
	m.filter = threshold
}
