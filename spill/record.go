package spill

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime/debug"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	magic      = "TSPL"
	prefixLen  = 128 // record header, zeros, head of the block
	summedFrom = 8   // first byte that the checksum covers
	joinLimit  = 64 << 10
)

// record says where a block lies on disk, and what has to be found there.
type record struct {
	slot
	number, write uint64
	n             int64 // bytes of the block
	head          int   // of these, before the cells
	memory        int64 // bytes that the block takes in memory
	kind          blockio.Kind
	dtype         matrix.DType
}

// len is the bytes of the record.
func (r record) len() int64 { return prefixLen + r.n - int64(r.head) }

// castagnoli gives the table of CRC32C, which the processor's own instruction stands behind.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// record describes the block of e as it will be written.
func (d *disk) record(e *entry, b matrix.Block) (record, error) {
	h, err := blockio.Encoder{}.Head(b)
	if err != nil {
		return record{}, err
	}
	r := record{number: e.number, write: d.writes.Add(1), head: h.Len(), kind: h.Kind, dtype: h.Type}
	r.n, r.memory = int64(h.Len())+h.Body, memory(h, b)
	return r, nil
}

// write writes b, the block of e: over old if that has a slot of the right class, else to a new one, and old is given
// back then. After an error old has its slot, with whatever in it.
func (d *disk) write(e *entry, old record, b matrix.Block) (record, error) {
	r, err := d.record(e, b)
	if err != nil {
		return record{}, fmt.Errorf("spill: block %v: %w", e.key, err)
	}
	gathered, err := blockio.Gather(nil, b)
	if err != nil {
		return record{}, fmt.Errorf("spill: block %v: %w", e.key, err)
	}
	class := classOf(r.n - int64(r.head))
	reuse := old.seg != nil && old.class == class
	if reuse {
		r.slot = old.slot
	} else if r.slot, err = d.allocate(class); err != nil {
		return record{}, fmt.Errorf("spill: block %v: %w", e.key, err)
	}
	if err := d.put(r, gathered); err != nil {
		if !reuse {
			d.release(r)
		}
		return record{}, &Error{r.seg.file.Name(), r.off, e.key, err}
	}
	if !reuse {
		d.release(old)
	}
	d.bytesWritten.Add(r.len())
	return r, nil
}

// put writes the record, a small one in one call.
func (d *disk) put(r record, gathered [][]byte) error {
	prefix := r.prefix(gathered[0][:r.head])
	gathered[0] = gathered[0][r.head:]
	sum := crc32.Update(0, castagnoli(), prefix[summedFrom:])
	for _, p := range gathered {
		sum = crc32.Update(sum, castagnoli(), p)
	}
	binary.LittleEndian.PutUint32(prefix[4:], sum)
	if r.len() <= joinLimit {
		buf := d.buffer(r.class)
		defer d.recycle(buf)
		all := append(buf.mem[:0], prefix...)
		for _, p := range gathered {
			all = append(all, p...)
		}
		prefix, gathered = all, nil
	}
	off := r.off
	for _, p := range append([][]byte{prefix}, gathered...) {
		n, err := d.writeAt(r.seg.file, p, off)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return err
		}
		off += int64(len(p))
	}
	return nil
}

// prefix is what stands before the cells, without the checksum.
func (r record) prefix(head []byte) []byte {
	le := binary.LittleEndian
	p := append(make([]byte, 0, prefixLen), magic+"\x00\x00\x00\x00"...)
	p = le.AppendUint64(p, r.number)
	p = le.AppendUint64(p, r.write)
	p = le.AppendUint64(p, uint64(r.n))
	p = le.AppendUint32(p, uint32(r.head))
	return append(p[:prefixLen-len(head)], head...)
}

// flat reports whether the bytes of the block on disk are its values as they are in memory.
func (r record) flat() bool {
	return r.seg != nil && (r.kind == blockio.Dense || r.kind == blockio.Cols) && wire.NativeOrder == wire.Little
}

// drop gives back the memory that looking at the record has taken.
func (r record) drop() { drop(r.seg.mem, r.off, r.off+r.len()) }

// view calls fn with the block over mapped memory, or in memory that is used again, for as long as the slot is not written to.
func (d *disk) view(e *entry, fn func(b matrix.Block) error) error {
	r := e.rec
	if r.seg.mem == nil {
		buf := d.buffer(r.class)
		defer d.recycle(buf)
		b, err := d.read(e, buf)
		if err != nil {
			return err
		}
		return fn(b)
	}
	defer r.drop()
	var b matrix.Block
	err := guard(func() (err error) {
		b, err = e.decode(r.seg.mem[r.off:][:r.len()], true)
		return err
	})
	d.bytesRead.Add(r.len())
	if err != nil {
		return e.fault(err)
	}
	return fn(b)
}

// read is the block in memory of its own: of buf, if it is large enough, or new memory. Blocks that are decoded and not
// looked at in place do not lie in buf.
func (d *disk) read(e *entry, buf *buffer) (b matrix.Block, err error) {
	r := e.rec
	d.bytesRead.Add(r.len())
	if r.seg.mem != nil && !r.flat() {
		err = guard(func() error { // decoding makes a copy, so the bytes need none
			b, err = e.decode(r.seg.mem[r.off:][:r.len()], false)
			return err
		})
		return b, e.fault(err)
	}
	raw := buf.bytes(r.len())
	if err := wire.ReadAt(r.seg.file, raw, r.off); err != nil {
		return matrix.Block{}, e.fault(err)
	}
	b, err = e.decode(raw, true)
	return b, e.fault(err)
}

// decode checks the bytes of e's record and makes the block of them.
func (e *entry) decode(raw []byte, inPlace bool) (matrix.Block, error) {
	r, le := e.rec, binary.LittleEndian
	fail := func(at int64, format string, args ...any) (matrix.Block, error) {
		return matrix.Block{}, &wire.At{Off: r.off + at, Err: fmt.Errorf(format, args...)}
	}
	if string(raw[:4]) != magic {
		return fail(0, "%w: magic %q, want %q", ErrDamaged, raw[:4], magic)
	}
	if got, want := crc32.Checksum(raw[summedFrom:], castagnoli()), le.Uint32(raw[4:]); got != want {
		return fail(4, "%w: checksum %#08x, want %#08x", ErrDamaged, got, want)
	}
	key, write, n, head := le.Uint64(raw[8:]), le.Uint64(raw[16:]), le.Uint64(raw[24:]), le.Uint32(raw[32:])
	if key != r.number || write != r.write || n != uint64(r.n) || head != uint32(r.head) {
		return fail(8, "%w: block %d, write %d of %d+%d bytes, want block %d, write %d of %d+%d", ErrDamaged,
			key, write, head, n-uint64(head), r.number, r.write, r.head, r.n-int64(r.head))
	}
	start := prefixLen - r.head
	c := wire.NewCursor(raw[start:], r.off+int64(start), wire.Little)
	b, err := blockio.Decoder{InPlace: inPlace}.Read(c)
	if c.End("the block"); err == nil {
		err = c.Err()
	}
	if err != nil {
		return fail(int64(start), "%w: %w", ErrDamaged, err)
	}
	return b, nil
}

// fault names file and block in an error of reading.
func (e *entry) fault(err error) error {
	if err == nil {
		return nil
	}
	at := &wire.At{Off: e.rec.off, Err: err}
	if inner, ok := err.(*wire.At); ok {
		at = inner
	}
	return &Error{e.rec.seg.file.Name(), at.Off, e.key, at.Err}
}

// guard runs read, which touches mapped memory and nothing else that can fail so: what the disk cannot give there comes
// as a fault of memory, and is made an error.
func guard(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: mapped bytes cannot be read: %v", ErrDamaged, fault)
		}
	}()
	return read()
}

// memory is the bytes of a block's slices.
func memory(h blockio.Head, b matrix.Block) int64 {
	n := int64(b.Data.NNZ())
	bytes := n * int64(h.Type.Size())
	switch h.Kind {
	case blockio.CSR:
		return bytes + 8*n + 8*(b.At.Rows.Len()+1)
	case blockio.COO:
		return bytes + 16*n
	case blockio.Cols:
		return bytes + 8*h.N
	}
	return bytes
}
