package angel

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// guessFromBinary describes binary data files. What is not asked for is what fits the lengths of all files, and whose ids
// ascend. Where more than one reading fits nothing is guessed: each of them is wrong for somebody.
func guessFromBinary(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta, a asked, head []byte) error {
	if a.layout != nil && a.layout.column && a.rows < 1 {
		return fmt.Errorf("%s without metadata: nothing tells how many values a column has, name %s: %w", a.layout.name, optRows,
			format.ErrUnknown)
	}
	var fits []candidate
	var names, whys []string
	for _, c := range candidates(a) {
		if why := c.fits(d, a, head); why != "" {
			whys = append(whys, fmt.Sprintf("%s: %s", c.String(), why))
			continue
		}
		fits, names = append(fits, c), append(names, c.String())
	}
	switch {
	case len(fits) == 0:
		return fmt.Errorf("binary data without metadata fit nothing (%s), name %s, %s and %s: %w", strings.Join(whys, "; "),
			optFormat, optRowType, optRows, format.ErrUnknown)
	case len(fits) > 1:
		return fmt.Errorf("binary data without metadata fit %d formats (%s), name %s and %s: %w", len(fits),
			strings.Join(names, "; "), optFormat, optRowType, format.ErrUnknown)
	case !fits[0].usual:
		return fmt.Errorf("binary data without metadata fit %s alone, with unusual numbers, name %s: %w", names[0], optRowType,
			format.ErrUnknown)
	}
	c := fits[0]
	if a.kind < 0 {
		w := widths{key: c.key, value: c.value, floats: c.floats, sparse: c.layout.colID}
		m.rowType = w.kind(m, a.key)
		m.guesses = append(m.guesses, withSet(fmt.Sprintf("no metadata, taken as %v: the only one that fits", c), optFormat, optRowType))
	}
	if a.layout == nil {
		m.class = c.layout.className()
	}
	return c.describe(ctx, b, d, m, a)
}

// candidate is what binary data may be.
type candidate struct {
	layout     *layout
	key, value int
	floats     bool
	usual      bool // the values are those of most models
}

func (c candidate) String() string {
	if !c.layout.colID {
		return fmt.Sprintf("%s with values of %d bytes", c.layout.name, c.value)
	}
	return fmt.Sprintf("%s with ids of %d and values of %d bytes", c.layout.name, c.key, c.value)
}

func candidates(a asked) (list []candidate) {
	layouts := []*layout{&colIDValueBinary, &rowIDColIDValueBinary} // values alone would fit anything
	if a.layout != nil {
		layouts = []*layout{a.layout}
	}
	for _, l := range layouts {
		for _, key := range []int{4, 8} {
			for _, value := range []int{4, 8} {
				switch {
				case a.key != 0 && a.key != key, a.kind >= 0 && elementOf(a.kind).Size() != value, l.framed, l.loose, !l.colID && key != max(a.key, 4):
				default:
					list = append(list, candidate{layout: l, key: key, value: value})
				}
			}
		}
	}
	return list
}

func (c *candidate) width(a asked) int64 {
	if c.layout.column {
		return max(1, a.rows)
	}
	return 1
}

// What bounds guesses: ids of 4 bytes beyond nearID are rather values, ids of 8 bytes beyond farID two things at once, and
// rows beyond maxGuessed no rows.
const (
	nearID = 1 << 28
	farID  = 1 << 40
)

// fits looks at the lengths of the files, and at the records that the first begins with. It says why they do not fit.
func (c *candidate) fits(d *dir, a asked, head []byte) (why string) {
	each := c.layout.fixed(style{long: c.key == 8}, c.width(a), c.value)
	for _, f := range d.dataFiles() {
		if d.sizes[f]%each != 0 {
			return fmt.Sprintf("the %d bytes of file %s are no records of %d", d.sizes[f], f, each)
		}
	}
	last := map[int32]int64{}
	floats, ints, n := 0, 0, int64(len(head))/each
	for i := range n {
		rec := head[i*each:]
		row := int32(0)
		if c.layout.rowID {
			if row, rec = int32(wire.Big.Uint32(rec)), rec[4:]; row < 0 || row >= maxGuessed {
				return fmt.Sprintf("row %d", row)
			}
		}
		if c.layout.colID {
			id := c.id(rec)
			if before, again := last[row]; again && id <= before {
				return fmt.Sprintf("column %d after %d in a row", id, before)
			}
			if a.key == 0 && c.far(id) {
				return fmt.Sprintf("column %d", id)
			}
			last[row], rec = id, rec[c.key:]
		}
		f, k := likely(rec, c.value)
		floats, ints = floats+f, ints+k
	}
	c.floats = floats >= ints
	c.usual = a.kind >= 0 || 10*max(floats, ints) >= 9*int(n)
	switch {
	case a.layout == nil && n > 1 && (!c.layout.rowID && each > 8 || c.layout.rowID && len(last) == int(n)):
		return "or columns of several values"
	case !c.layout.colID && !c.usual:
		return "unusual numbers"
	case a.kind < 0 && c.layout == &colIDValueBinary && c.key+c.value > 8 && severalRows(head):
		return "or several rows with ids and values of 4 bytes"
	}
	return ""
}

func (c *candidate) id(rec []byte) int64 {
	var id [1]int64
	fetchIDs(id[:], rec, c.key, c.key == 8)
	return id[0]
}

func (c *candidate) far(id int64) bool {
	limit := int64(farID)
	if c.key == 4 {
		limit = nearID
	}
	return id <= -limit || id >= limit
}

// severalRows reports whether the bytes look like ids and values of 4 bytes, of more than one row.
func severalRows(head []byte) bool {
	c := candidate{layout: &colIDValueBinary, key: 4, value: 4}
	runs, n, last := 0, 0, int64(math.MaxInt64)
	for ; len(head) >= 8; head = head[8:] {
		id := c.id(head)
		if id < 0 || c.far(id) {
			return false
		}
		if id <= last {
			runs++
		}
		n, last = n+1, id
	}
	return runs <= n/2
}

// describe counts the records of every file.
func (c *candidate) describe(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta, a asked) error {
	rows := max(1, a.rows)
	if rows > 1 && c.layout.colID && !c.layout.rowID && !c.layout.column {
		return fmt.Errorf("%s without metadata: nothing tells where a row ends, want %s=1: %w", c.layout.name, optRows, format.ErrUnknown)
	}
	each := c.layout.fixed(style{long: c.key == 8}, c.width(a), c.value)
	from := int64(0)
	for i, f := range d.dataFiles() {
		p := partMeta{id: int32(i), rows: matrix.Range{Hi: rows}, file: f, size: d.sizes[f], saved: counts{-1, -1, -1}}
		n := d.sizes[f] / each
		if c.layout.rowID {
			counted, err := countRows(ctx, b, blob.Join(d.path, f), each)
			if err != nil {
				return err
			}
			p.listRows(counted)
			m.rows = max(m.rows, int32(p.rows.Hi))
			m.parts = append(m.parts, p)
			continue
		}
		if !c.layout.column {
			if n%rows != 0 {
				return fmt.Errorf("file %s: %d values in %d rows: %w", f, n, rows, format.ErrUnknown)
			}
			n /= rows
		}
		if n > math.MaxInt32 {
			return fmt.Errorf("file %s: %d records: %w", f, n, format.ErrLimit)
		}
		for r := range rows {
			p.rowMetas.add(rowMeta{id: int32(r), off: -1, n: int32(n)})
		}
		if p.saved.cols = int32(n); !c.layout.colID {
			p.cols = matrix.Range{Lo: from, Hi: from + n}
			from += n
		}
		m.parts = append(m.parts, p)
	}
	if m.rows = max(m.rows, int32(max(a.rows, 0))); !c.layout.rowID {
		m.rows = int32(rows)
	}
	if !c.layout.colID {
		m.cols, m.blockCol = from, max(1, from)
	}
	return nil
}

// listRows describes rows of which so many values were found.
func (p *partMeta) listRows(counted map[int32]int32) {
	for _, id := range slices.Sorted(maps.Keys(counted)) {
		p.rowMetas.add(rowMeta{id: id, off: -1, n: counted[id]})
		p.rows.Hi = max(p.rows.Hi, int64(id)+1)
	}
}

// maxGuessed is how many rows data without metadata may have.
const maxGuessed = 1 << 22

// countRows counts the records of each row of a file whose records begin with a row id.
func countRows(ctx context.Context, b blob.Bucket, file string, each int64) (map[int32]int32, error) {
	o, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	counted := map[int32]int32{}
	buf := make([]byte, min(window/each*each, o.Size()))
	for off := int64(0); off < o.Size(); off += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), o.Size()-off)]
		if err := errorsFirst(ctx.Err(), func() error { return wire.ReadAt(o, buf, off) }); err != nil {
			return nil, err
		}
		for at := int64(0); at+each <= int64(len(buf)); at += each {
			row := int32(wire.Big.Uint32(buf[at:]))
			if row < 0 || len(counted) > maxGuessed || counted[row] == math.MaxInt32 {
				return nil, format.Corrupt(name, file, off+at, "row %d, want one from 0 on, and at most %d of them", row, maxGuessed)
			}
			counted[row]++
		}
	}
	return counted, nil
}
