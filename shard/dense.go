package shard

import (
	"fmt"
	"sync"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// number is an element type that servers keep.
type number interface {
	float64 | float32 | int64 | int32
}

// cellLimit is how many cells a dense partition may have; more cannot be meant for one process.
const cellLimit = 1 << 36

// chunk is how many cells of a dense partition are worked on and copied for marks at a time: they stay in a near cache.
const chunk = 1 << 14

// dense keeps every cell, row-major, and after them each slot of the rule in the same order.
type dense[T number] struct {
	denseCells[T]
	at    matrix.Rect
	width int // columns
	slots int
	size  int // bytes of all
	pack  func(low []byte) cellPacking[T]
	marks []*denseMark[T]
	now   *period        // what remembers changes; nil: nothing does
	spare *kernel.Memory // for the copies of the next mark; nil: it has to find some
	hold  sync.RWMutex   // for reading by who reads cells beside the owner, who holds it to close, and when cells have moved

	room []T // cells, and their slots, of a packed partition while they are changed

	stepper stepper[T] // nil: there is no rule
	wide    bool       // a delta has changed all cells, as steps do
	sum     []T        // of a step's deltas over a chunk
	grad    [1]*T
	batch   kernel.Batch[T]
}

// slotAlign is what slots begin at a multiple of, in elements.
const slotAlign = 16

func newDense[T number](m *matrix.Meta, at matrix.Rect, step psf.Step, slots int) (*dense[T], error) {
	if _, err := Need(m, at, nil); err != nil {
		return nil, err
	}
	n, _ := at.Cells()
	d := &dense[T]{at: at, width: int(at.Cols.Len()), slots: slots}
	if step.F32 != nil || step.F64 != nil || step.Rows != nil {
		d.stepper = newStepper[T](step, slots)
	}
	d.cells, d.next = int(n), (int(n)+slotAlign-1)&^(slotAlign-1)
	low, size := cellBytes(m, d.next, slots)
	d.low, d.size = low, low+size
	d.pack = func(low []byte) cellPacking[T] { return packCells[T](m, at, low) }
	mem := &kernel.Memory{}
	if err := mem.Fit(d.size); err != nil {
		return nil, fmt.Errorf("matrix %s: %w", m.Name, err)
	}
	d.denseCells = d.in(mem)
	if init := newFill(m); init != nil {
		d.fill(init)
	}
	return d, nil
}

// in is the cells as they lie in other memory.
func (d *dense[T]) in(mem *kernel.Memory) denseCells[T] {
	c, data := d.denseCells, mem.Data()[:d.size]
	c.mem, c.packed = mem, d.pack(data[:d.low])
	c.val, _ = wire.Numbers[T](data[d.low:]) // memory is aligned
	return c
}

// cellBytes is how many bytes n cells with their slots take: those that are packed, and the others.
func cellBytes(m *matrix.Meta, n, slots int) (low, size int) {
	if as, ok := narrowings[m.Storage]; ok {
		return kernel.NarrowBytes(as, n), n * slots * m.DType.Size()
	}
	return 0, n * (1 + slots) * m.DType.Size()
}

// fill gives all cells their initial values.
func (d *dense[T]) fill(init *fill) {
	for lo := 0; lo < d.cells; lo += chunk {
		val := d.open(lo, min(chunk, d.cells-lo))
		row, col := d.at.Rows.Lo+int64(lo/d.width), d.at.Cols.Lo+int64(lo%d.width)
		for i := range val {
			val[i] = T(init.cell(row, col))
			if col++; col == d.at.Cols.Hi {
				row, col = row+1, d.at.Cols.Lo
			}
		}
		d.shut(lo, val)
	}
}

func (d *dense[T]) aligned(values []byte) bool { return aligned[T](values) }

func aligned[T number](values []byte) bool {
	_, ok := wire.Numbers[T](values)
	return ok
}

func (d *dense[T]) stored() int { return 0 }

// cell is the number of a cell.
func (d *dense[T]) cell(row, col int64) int {
	return int(row-d.at.Rows.Lo)*d.width + int(col-d.at.Cols.Lo)
}

func (d *dense[T]) read(dst []byte, rows matrix.Range, keys []int64) {
	out, _ := wire.Numbers[T](dst)
	n := int(rows.Len())
	for k, c := range keys {
		from := d.cell(rows.Lo, c)
		if d.packed != nil {
			for r := range n {
				d.packed.load(out[k*n+r:][:1], from+r*d.width)
			}
			continue
		}
		for r := range n {
			out[k*n+r] = d.val[from+r*d.width]
		}
	}
}

func (d *dense[T]) readRect(dst []byte, at matrix.Rect) {
	out, _ := wire.Numbers[T](dst)
	width := int(at.Cols.Len())
	for r := at.Rows.Lo; r < at.Rows.Hi && width > 0; r++ {
		d.load(out[:width], 0, d.cell(r, at.Cols.Lo))
		out = out[width:]
	}
}

// runs calls f for the runs of cells that the delta covers, with its values for them.
func (d *dense[T]) runs(x *Delta, f func(at int, val []T)) {
	val, _ := wire.Numbers[T](x.Values) // aligned: Fits has looked
	if x.Keys != nil {
		n := int(x.Rows.Len())
		for k, c := range x.Keys {
			for r := range n {
				f(d.cell(x.Rows.Lo+int64(r), c), val[k*n+r:][:1])
			}
		}
		return
	}
	width := int(x.Cols.Len())
	if width == d.width {
		width *= int(x.Rows.Len()) // whole rows lie one after the other
	}
	for r := x.Rows.Lo; len(val) > 0; r++ {
		f(d.cell(r, x.Cols.Lo), val[:width])
		val = val[width:]
	}
}

func (d *dense[T]) set(x *Delta) error {
	d.runs(x, func(at int, val []T) {
		d.keep(0, at, at+len(val))
		d.save(0, at, val)
	})
	return nil
}

func (d *dense[T]) add(x *Delta, t int64) error {
	if x.Keys == nil && x.At() == d.at && d.slots == 0 && d.packed == nil && d.cells > 0 {
		val, _ := wire.Numbers[T](x.Values)
		d.addAll(val)
		return nil
	}
	d.runs(x, func(at int, val []T) {
		d.keep(0, at, at+len(val))
		if d.packed == nil {
			d.addTo(d.val[at:], val)
			return
		}
		for lo := 0; lo < len(val); lo += chunk {
			some := val[lo:min(lo+chunk, len(val))]
			into := d.open(at+lo, len(some))
			d.addTo(into, some)
			d.packed.round(at+lo, into, t)
		}
	})
	return nil
}

// addTo adds values to the first cells of a slice.
func (d *dense[T]) addTo(into, val []T) {
	if len(val) == 1 {
		into[0] += val[0]
		return
	}
	d.grad[0] = &val[0]
	d.batch = kernel.Batch[T]{Slab: into, Dim: len(val), Rows: firstRow, Grad: d.grad[:]}
	kernel.AddRows(&d.batch)
	d.grad[0] = nil
}

// firstRow is the only row of a batch of cells that lie beside each other.
var firstRow = []uint32{0}

func (d *dense[T]) keys(matrix.Range) []int64 { return nil }

func (d *dense[T]) deltas(b matrix.Block) []Delta { return deltasOf[T](b) }

func (d *dense[T]) remove([]int64) int { return 0 }

func (d *dense[T]) make([]int64) error { return nil }

func (d *dense[T]) missing([]int64) int { return 0 }

func (d *dense[T]) bytes() int64 {
	n := int64(d.mem.Resident(d.size)) + d.spareBytes(d.spare) + int64((cap(d.sum)+cap(d.room))*sizeOf[T]())
	for _, m := range d.marks {
		n += m.bytes()
	}
	return n
}

func (d *dense[T]) close() {
	d.hold.Lock()
	defer d.hold.Unlock()
	for _, m := range d.marks {
		m.free()
	}
	if d.spare != nil {
		d.spare.Free()
		d.spare = nil
	}
	d.mem.Free()
	d.denseCells.mem, d.val, d.packed = nil, nil, nil
}
