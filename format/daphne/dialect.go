package daphne

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// The layouts, as Sniff and the option dialect name them.
const (
	docName    = "document"
	mainName   = "daphne"
	oldName    = "daphne-0.1"
	hybridName = "hybrid"
)

var layoutNames = []string{docName, mainName, oldName, hybridName}

// file is what a file says without its values.
type file struct {
	header
	dialect string
	size    int64 // of the file
	blocks  []entry
	notes   []string
	beside  string   // name of the sidecar
	headSum uint32   // of the header, if there are sums
	sum     []uint32 // CRC-32 of each block; nil: not known
}

// entry is one block.
type entry struct {
	blockio.Head
	off int64 // of the cells
	as  storage
}

// storage is how the cells of an entry are stored.
type storage uint8

const (
	asBlock   storage = iota // as package blockio reads them
	asArrays                 // CSR as DAPHNE writes it: offsets, columns, values
	asRows                   // CSR as DAPHNE 0.1 wrote it
	asRecords                // frame: row after row the values of all columns
)

// layouts in the order in which they are tried. A file of a matrix with at least one cell fits one of them only, save
// that a single dense block with DAPHNE's codes is the same in daphne and hybrid, and that a single empty block does not
// tell document from hybrid.
var layouts = []struct {
	name             string
	matrices, frames bool // which it is tried for
	read             func(ctx context.Context, w *window, size int64) (*file, error)
}{
	{mainName, true, false, readMain},
	{docName, true, true, readDocument},
	{mainName, false, true, readRecords},
	{oldName, true, true, readOld},
	{hybridName, true, true, readHybrid},
}

// parse finds the layout of a file and the places of its blocks; only, if not empty, is the layout that is expected. The
// file is not nil if the bytes look like DAPHNE's at first, even if there is an error.
func parse(ctx context.Context, src io.ReaderAt, size int64, only string) (*file, error) {
	w := &window{src: src, size: size}
	first := w.cursor(0, fixedLen)
	v, data := first.U8("version"), first.U8("data type")
	if first.Err() == nil && (v != version || data < 1 || data > frame) {
		_, err := readHeader(w, blockio.Document)
		return nil, err
	}
	if err := firstError(w.err, first.Err()); err != nil {
		return nil, err
	}
	errs, partial := map[string]error{}, &file{}
	for _, l := range layouts {
		if only != "" && only != l.name || data == frame && !l.frames || data != frame && !l.matrices {
			continue
		}
		f, err := l.read(ctx, w, size)
		if w.err != nil || ctx.Err() != nil {
			return nil, firstError(w.err, context.Cause(ctx))
		}
		if err == nil {
			f.dialect, f.size = l.name, size
			f.notes = append([]string{"layout " + f.dialect}, f.notes...)
			return f, nil
		}
		errs[l.name] = err
		if f != nil && len(f.blocks) >= len(partial.blocks) {
			f.dialect, f.size, partial = l.name, size, f
		}
	}
	return partial, noLayout(errs, only)
}

// noLayout says why a file fits no layout, at the byte that the document's reader found.
func noLayout(errs map[string]error, only string) error {
	if only != "" {
		if err := errs[only]; err != nil {
			return err
		}
		return fmt.Errorf("layout %q, want one of %v: %w", only, layoutNames, format.ErrOption)
	}
	doc := errs[docName]
	var at *wire.At
	if !errors.As(doc, &at) {
		return doc
	}
	return &wire.At{Off: at.Off, Err: fmt.Errorf("%w (layout %s; as %s: %v)", at.Err, docName, mainName, errs[mainName])}
}

func misfit(off int64, text string, args ...any) error {
	return &wire.At{Off: off, Err: fmt.Errorf(text, args...)}
}

// readMain reads the layout of DAPHNE 0.2 and later: one block of the type of the matrix, everything said twice.
func readMain(_ context.Context, w *window, size int64) (*file, error) {
	h, err := readHeader(w, blockio.Daphne)
	if err != nil {
		return nil, err
	}
	d := blockio.Decoder{Codes: blockio.Daphne}
	block, err := d.Head(w.cursor(h.size, blockio.MaxHead))
	if err != nil {
		return nil, err
	}
	e := entry{Head: block, off: h.size + int64(block.Len())}
	if uint8(e.Kind) != h.data || e.At != h.rect() || e.Type != h.types[0] {
		return nil, misfit(h.size, "block %v of %v, want the one of the header", e.At, e.Type)
	}
	if e.Kind == blockio.CSR {
		var ok bool
		if e.Body, ok = arraysLen(e.At.Rows.Len(), e.N, e.Type); !ok {
			return nil, misfit(h.size, "more than 2^63 bytes")
		}
		e.as = asArrays
	}
	if size-e.off != e.Body {
		return nil, misfit(e.off, "%d bytes behind the block's head, want %d", size-e.off, e.Body)
	}
	if e.as == asArrays {
		lo := w.cursor(e.off, 8).U64("first row offset")
		hi := w.cursor(e.off+8*e.At.Rows.Len(), 8).U64("last row offset")
		if lo != 0 || hi != uint64(e.N) {
			return nil, misfit(e.off, "row offsets from %d to %d, want 0 to %d", lo, hi, e.N)
		}
	}
	return &file{header: h, blocks: []entry{e}}, nil
}

// arraysLen is the length of CSR in three arrays.
func arraysLen(rows, n int64, t matrix.DType) (int64, bool) {
	hi, cells := bits.Mul64(uint64(n), uint64(8+t.Size()))
	total, carry := bits.Add64(cells, 8*uint64(rows+1), 0) // rows are of 32 bits
	return int64(total), hi == 0 && carry == 0 && total < 1<<63
}

func readDocument(ctx context.Context, w *window, size int64) (*file, error) {
	return readBlocks(ctx, w, size, blockio.Document)
}

func readHybrid(ctx context.Context, w *window, size int64) (*file, error) {
	return readBlocks(ctx, w, size, blockio.Daphne)
}

// readBlocks walks the block headers of the document's layout. With an error it gives what came before.
func readBlocks(ctx context.Context, w *window, size int64, codes blockio.Codes) (*file, error) {
	h, err := readHeader(w, codes)
	if err != nil {
		return nil, err
	}
	f := &file{header: h}
	if h.garbled {
		return f, misfit(fixedLen+h.cols, "labels are not UTF-8")
	}
	d := blockio.Decoder{Codes: codes}
	for off := h.size; off < size; {
		if len(f.blocks)%1024 == 0 && ctx.Err() != nil {
			return f, context.Cause(ctx)
		}
		block, err := d.Head(w.cursor(off, blockio.MaxHead))
		if err != nil {
			return f, err
		}
		e := entry{Head: block, off: off + int64(block.Len())}
		if e.Body > size-e.off {
			return f, misfit(e.off, "%v block %v of %v needs %d bytes, %d remain: %w",
				e.Kind, e.At, e.Type, e.Body, size-e.off, wire.ErrTruncated)
		}
		f.blocks = append(f.blocks, e)
		off = e.off + e.Body
	}
	f.noteLabels()
	return f, f.settle()
}

func (f *file) noteLabels() {
	seen := map[string]bool{}
	for _, l := range f.labels {
		if l != "" && seen[l] {
			f.notes = append(f.notes, fmt.Sprintf("label %q comes more than once", l))
		}
		seen[l] = true
	}
}
