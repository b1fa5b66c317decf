package ps

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"thole.example/matrix"
	"thole.example/ssp"
)

// Model describes a matrix before it is created, with the methods of the PSModel document. [Client.CreateModels] makes it; what
// is set after that has no effect. What is wrong with a setting is told then, too. A Model is for one goroutine.
type Model struct {
	meta     matrix.Meta
	rowType  matrix.RowType
	cut      string
	change   func(*matrix.Meta)
	average  bool
	own      bool
	hogwild  bool
	needSave bool
	oplog    string
	filter   bool
	limit    float64      // of the filter
	wire     matrix.DType // Invalid: values cross the wire as they are
	cache    int64        // bytes of the cache of hot keys; 0: none
	stale    int          // and its staleness
	bound    *ssp.Bound
	load     LoadOptions
	save     SaveOptions
	err      error // the first setting that is none
	handle   *Matrix
}

// NewModel describes a matrix of so many rows and columns. block is the number of rows of one block (matrix slice) and that of
// columns; -1, which is also what is not given, lets the partitioner choose. By default rows are T_DOUBLE_DENSE, increments are not
// divided, tasks of a process share what they pulled, and the matrix is to be saved if it has a path.
func NewModel(name string, row, col int64, block ...int64) *Model {
	m := &Model{meta: matrix.Meta{Name: name, Rows: row, Cols: col}, hogwild: true, needSave: true}
	switch {
	case row < 1 || col < 1:
		m.fail("%d rows of %d columns, want 1 or more", row, col)
	case len(block) > 2:
		m.fail("%d sizes of a block, want its rows and columns", len(block))
	}
	for i, n := range block {
		if n == 0 || n < -1 {
			m.fail("blocks of %d rows or columns, want 1 or more, or -1", n)
		}
		if n > 0 && i < 2 {
			*[]*int64{&m.meta.BlockRows, &m.meta.BlockCols}[i] = n
		}
	}
	return m
}

// fail notes the first wrong setting.
func (m *Model) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("ps: matrix %s: %s", m.meta.Name, fmt.Sprintf(format, args...))
	}
}

// SetAverage sets whether increments are divided by the total number of tasks; update functions are not. The division is made
// when the increment is: floats are rounded once, integers toward zero. Default: false.
func (m *Model) SetAverage(aver bool) { m.average = aver }

// SetHogwild sets whether tasks of one process that have the same [Local] share the rows of the matrix that they pulled, which
// saves memory if there are several; rows that are given out are copies all the same. Default: true.
func (m *Model) SetHogwild(hogwild bool) { m.hogwild = hogwild }

// SetReadMyWrites sets whether what a task reads has all that it has pushed itself, also what is not folded yet: as SSP is meant in
// Bosen. A read then sends what waits first, and always asks the servers. Matrices with an update rule cannot have it, for gradients
// are no values; staged functions are seen with their clock. Default: false, so that all tasks at one clock read the same.
func (m *Model) SetReadMyWrites(own bool) { m.own = own }

// SetRowType sets the type and storage of rows: any of Angel's but those of Java objects. T_INT_ARBITRARY is dense if the model at
// the load path has a value other than zero in a quarter of the cells or more, and else sparse, which it is also without a load
// path: a matrix without content. Default: T_DOUBLE_DENSE.
func (m *Model) SetRowType(rowType matrix.RowType) {
	switch {
	case rowType.Object():
		m.fail("row type %v holds Java objects, whose bytes depend on classes that only their authors have; want numbers", rowType)
	case !rowType.Known():
		m.fail("%v is none, want one such as T_DOUBLE_DENSE", rowType)
	}
	m.rowType = rowType
}

// SetOplogType sets how increments wait until they are flushed: DENSE_DOUBLE (or DENSE_DOUBE), DENSE_FLOAT and DENSE_INT add them
// up in a local matrix of the same size, whose rows are made when they are first touched; LIL_INT, SPARSE_DOUBLE, SPARSE_FLOAT and
// SPARSE_INT by key. The other names of Angel 1.5 and those of row types mean one of those. "auto", the default, takes them as
// they come, adds them up where there are several for one cell, and holds a row whole where that is smaller. The type must be one
// for the matrix's values.
//
// All of them send each cell once, the sum of a task's increments in the order of the calls, and no cell that was not touched
// unless it is added to for nothing: the bits that arrive are the same for every type.
func (m *Model) SetOplogType(oplogType string) { m.oplog = oplogType }

// SetFilter has a flush or clock send only what is beyond the threshold, in magnitude; the rest stays, and later increments are
// added to it. What stays is sent when the task leaves, and when [Matrix.SetFilter] has taken the filter away: do that before the
// last clock of a training whose model is saved.
func (m *Model) SetFilter(threshold float64) {
	m.filter, m.limit = true, threshold
	if !(threshold >= 0) || math.IsInf(threshold, 0) {
		m.fail("filter threshold %v, want a number from 0 on", threshold)
	}
}

// SetWire has values of a matrix of f32 or f64 cross the wire in fewer bytes: "f16" and "bf16" for pushes and pulls, "int8" for pushes;
// "", the default, as they are. It is this client's setting; tasks may have different ones.
//
// What a flush or clock sends is rounded to nearest, ties to even. What that loses, or what is too large for f16, stays with the
// client and is added to later increments of the cell: nothing is lost, and all of it is sent when the task leaves, unless
// an update rule, which makes no step with that alone, would take it: then it is forgotten. The bits that are
// sent do not depend on how the matrix is cut. An increment with a value that is not finite goes as it is. int8 has a scale, a
// power of two, for 256 columns of a row, or for a key's column; such columns of up to 4 rows go as bf16.
//
// A pull is rounded by the server, and refused if a value is too large for f16. All stored columns of a sparse matrix come as they are.
func (m *Model) SetWire(name string) {
	as, err := wireType(name)
	if err != nil {
		m.fail("%v", err)
	}
	m.wire = as
}

// SetCache keeps the values of hot keys with the client, in so many bytes for each task; 0, the default: none are kept. Pulls by key
// (PullKeys, Pull, GetCols and the like) then ask the servers for the other keys alone.
//
// Under BSP and SSP a pull uses values as long as the bound allows, as GetRow does: BSP gives the same bits, and SSP(k) values that are
// k clocks old at most. Under ASP a pull at the task's clock c uses values that the task asked for at clock c - staleness or later. They
// may lack what the task itself has pushed with its clocks since; what Flush, FlushPull or PushPullKeys sent is always seen. Barrier, loads
// and whatever changes a matrix at once empty the cache. A matrix with SetReadMyWrites uses no cache.
func (m *Model) SetCache(bytes int64, staleness int) {
	m.cache, m.stale = bytes, staleness
	if err := checkCache(bytes, staleness); err != nil {
		m.fail("%v", err)
	}
}

// SetStorage has servers keep the values of a matrix of f32 in fewer bytes: "f16", "bf16", or for sparse matrices "int8", with a
// scale for each column; "", the default, as they are. To tasks, rules, functions and whatever is saved values are f32.
//
// After a step of the rule or an increment a value is rounded to one of its two neighbours at random, such that small changes are
// right in the mean; the random bits are a function of the matrix's name and seed, row, column and step or clock. Initial values,
// and what loads, assignments and functions put, go to nearest. Values too large for the type become its largest.
func (m *Model) SetStorage(name string) {
	as, err := matrix.ParseNarrow(name)
	if err != nil {
		m.fail("values are kept as %v", err)
	}
	m.meta.Storage = as
}

// SetLoadPath sets the path, within the servers' bucket, of a saved model that the matrix begins with; in any format, saved by
// any number of servers in any partitions. The model may have fewer rows, columns and keys: the others begin with their initial
// values.
func (m *Model) SetLoadPath(path string) { m.load.Path = path }

// SetLoad is SetLoadPath with options; those of which matrices to load are not used.
func (m *Model) SetLoad(o LoadOptions) { m.load = o }

// SetSavePath sets the path, within the servers' bucket, that [Client.SaveModels] saves the matrix to, in Angel's format.
func (m *Model) SetSavePath(path string) { m.save = SaveOptions{Path: path} }

// SetSave is SetSavePath with a format and its options; those of which matrices to save are not used.
func (m *Model) SetSave(o SaveOptions) { m.save = o }

// SetNeedSave sets whether the matrix is saved if it has a path. Default: true.
func (m *Model) SetNeedSave(needSave bool) { m.needSave = needSave }

// SetMeta changes what the document has no method for: update rule, initial values, the first column. It is called when the
// matrix is created.
func (m *Model) SetMeta(change func(meta *matrix.Meta)) { m.change = change }

// SetPartitioner sets how the matrix is cut. Default: range if a block size is given, else hash for sparse matrices and column for
// dense ones.
func (m *Model) SetPartitioner(name string) { m.cut = name }

// SetAttribute sets a parameter of the matrix: those that Angel has for the methods above, and matrix.staleness, the matrix's own
// bound (below 0: ASP). Others have no effect. All of them go with the matrix, to the servers and into what is saved.
func (m *Model) SetAttribute(key, value string) {
	if m.meta.Attrs == nil {
		m.meta.Attrs = map[string]string{}
	}
	m.meta.Attrs[key] = value
	if set := attributes[key]; set != nil {
		if err := set(m, value); err != nil {
			m.fail("attribute %s: %v", key, err)
		}
	}
}

// attributes are the parameters that have an effect.
var attributes = map[string]func(m *Model, value string) error{
	"matrix.load.path":  func(m *Model, v string) error { m.SetLoadPath(v); return nil },
	"matrix.save.path":  func(m *Model, v string) error { m.SetSavePath(v); return nil },
	"matrix.average":    func(m *Model, v string) error { return readBool(&m.average, v) },
	"matrix.hogwild":    func(m *Model, v string) error { return readBool(&m.hogwild, v) },
	"matrix.oplog.type": func(m *Model, v string) error { m.SetOplogType(v); return nil },

	"matrix.wire":    func(m *Model, v string) error { m.SetWire(v); return nil },
	"matrix.storage": func(m *Model, v string) error { m.SetStorage(v); return nil },

	"matrix.cache.bytes": func(m *Model, v string) error { return readCount(&m.cache, v) },
	"matrix.cache.staleness": func(m *Model, v string) error {
		var n int64
		err := readCount(&n, v)
		if err == nil {
			m.SetCache(m.cache, int(n))
		}
		return err
	},

	"matrix.oplog.enablefilter": func(m *Model, v string) error { return readBool(&m.filter, v) },
	"matrix.oplog.filter.threshold": func(m *Model, v string) error {
		limit, err := strconv.ParseFloat(v, 64)
		if err != nil || !(limit >= 0) || math.IsInf(limit, 0) {
			return fmt.Errorf("%q, want a number from 0 on", v)
		}
		m.limit = limit
		return nil
	},
	"matrix.staleness": func(m *Model, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return fmt.Errorf("%q, want a number", v)
		}
		bound := ssp.Bound(n)
		if n < 0 {
			bound = ssp.ASP
		}
		m.bound = &bound
		return nil
	},
}

// readBool reads true or false, in any case, as Java does.
func readBool(into *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q, want true or false", v)
	}
	*into = b
	return nil
}

// readCount reads a whole number from 0 on.
func readCount(into *int64, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q, want a whole number from 0 on", v)
	}
	*into = n
	return nil
}

// Matrix is the handle of the matrix; nil before it was created.
func (m *Model) Matrix() *Matrix { return m.handle }

// attrRowType is the attribute under which the codec of Angel's format finds the row type to write.
const attrRowType = "angel.rowType"

// describe is the matrix's description, once the layout is known.
func (m *Model) describe(layout matrix.Layout) matrix.Meta {
	meta := m.meta.Clone()
	meta.DType, meta.Layout = m.rowType.DType(), layout
	if !plain(m.rowType) {
		if meta.Attrs == nil {
			meta.Attrs = map[string]string{}
		}
		meta.Attrs[attrRowType] = m.rowType.String()
	}
	if m.change != nil {
		m.change(&meta)
	}
	return meta
}

// plain reports whether the type is the first of its element type and layout, which is written where nothing else is asked for.
func plain(t matrix.RowType) bool {
	for _, other := range matrix.RowTypes() {
		if other.DType() == t.DType() && other.Layout() == t.Layout() {
			return other == t || t == matrix.IntArbitrary
		}
	}
	return false
}

// partitioner is how the matrix is cut.
func (m *Model) partitioner() string {
	if m.cut == "" && m.meta.BlockRows+m.meta.BlockCols > 0 {
		return "range"
	}
	return m.cut
}

// adopt gives the matrix the settings that are the client's.
func (m *Model) adopt(of *Matrix) error {
	how, err := gatheringOf(m.oplog, &of.meta)
	if err != nil {
		return err
	}
	if m.own && of.meta.Rule != "" {
		return fmt.Errorf("ps: matrix %s: a task's own gradients for rule %s cannot be read", of.meta.Name, of.meta.Rule)
	}
	of.gather, of.own, of.wire = how, m.own, m.wire
	if of.divisor = 0; m.average {
		of.divisor = int64(of.c.o.Tasks)
	}
	if of.filter = unfiltered; m.filter {
		of.filter = m.limit
	}
	if !m.hogwild {
		of.unshare()
	}
	if err := of.setCache(m.cache, m.stale); err != nil {
		return err
	}
	m.handle = of
	return nil
}

// ownBound gives the matrix its bound before it is created.
func (m *Model) ownBound(c *Client, name string) {
	if m.bound != nil {
		c.o.Bounds = maps.Clone(c.o.Bounds)
		if c.o.Bounds == nil {
			c.o.Bounds = map[string]ssp.Bound{}
		}
		c.o.Bounds[name] = *m.bound
	}
}
