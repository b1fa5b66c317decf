package angel

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// asked are the options for data without metadata.
type asked struct {
	layout     *layout // nil: guess
	kind       rowType // -1: guess
	key        int     // bytes of a column id; 0: guess
	rows, cols int64   // -1: those that there are
}

// asks reads the options for data without metadata.
func (c codec) asks(o *format.Options) (a asked, err error) {
	a = asked{kind: -1, rows: -1, cols: -1}
	if v := o.Set[optFormat]; v != "" {
		if a.layout, err = c.find(v); err != nil {
			return a, err
		}
	}
	if v := o.Set[optRowType]; v != "" {
		var ok bool
		if a.kind, ok = parseRowType(v); !ok {
			return a, wrongOption(optRowType, v, "a row type such as T_FLOAT_DENSE")
		}
		a.key = 4
		if a.kind.LongKeys() {
			a.key = 8
		}
	}
	if v := o.Set[optKeyWidth]; v != "" {
		if v != "4" && v != "8" || a.key != 0 && v != strconv.Itoa(a.key) {
			return a, wrongOption(optKeyWidth, v, "4 or 8, as the row type says")
		}
		a.key = int(v[0] - '0')
	}
	if v := o.Set[optRows]; v != "" {
		if a.rows, err = strconv.ParseInt(v, 10, 32); err != nil || a.rows < 0 || a.rows > maxGuessed {
			return a, wrongOption(optRows, v, fmt.Sprintf("a number up to %d", maxGuessed))
		}
	}
	if v := o.Set[optCols]; v != "" {
		if a.cols, err = strconv.ParseInt(v, 10, 64); err != nil || a.cols < 0 {
			return a, wrongOption(optCols, v, "a number below 2^63")
		}
	}
	return a, nil
}

func wrongOption(option, value, want string) error {
	return fmt.Errorf("option %s=%q, want %s: %w", option, value, want, format.ErrOption)
}

// withSet says which option changes a guess.
func withSet(guess string, options ...string) string {
	return guess + " (option " + strings.Join(options, ", ") + " says otherwise)"
}

// dataFiles are the files of a folder without metadata, in the order of their numbers.
func (d *dir) dataFiles() []string {
	var files []string
	for f := range d.sizes {
		if !slices.Contains(metaNames, f) {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return files
}

// headBytes is how much of a file is looked at to find out what it is.
const headBytes = 64 << 10

// head is the beginning of the first data file that is not empty.
func (d *dir) head(ctx context.Context, b blob.Bucket) (file string, head []byte, err error) {
	for _, f := range d.dataFiles() {
		if d.sizes[f] == 0 {
			continue
		}
		o, err := b.Open(ctx, blob.Join(d.path, f))
		if err != nil {
			return f, nil, err
		}
		defer o.Close()
		head = make([]byte, min(o.Size(), headBytes))
		return f, head, wire.ReadAt(o, head, 0)
	}
	return "", nil, fmt.Errorf("no metadata, and no data file with any byte: %w", format.ErrUnknown)
}

// looksLikeText reports whether the data begin with lines of a format of Angel.
func (c codec) looksLikeText(ctx context.Context, b blob.Bucket, d *dir) bool {
	_, head, err := d.head(ctx, b)
	if err != nil {
		return false
	}
	l, _, _ := guessText(head, "")
	return l != nil
}

// guess makes up the metadata of a folder of data files.
func (c codec) guess(ctx context.Context, b blob.Bucket, d *dir, o *format.Options) (*matrixMeta, error) {
	a, err := c.asks(o)
	if err != nil {
		return nil, err
	}
	_, head, err := d.head(ctx, b)
	if err != nil {
		return nil, err
	}
	m := &matrixMeta{id: -1, rowType: a.kind, cols: a.cols, options: map[string]string{}, origin: fromData}
	sep, err := parseSeparator(o.Set[optSeparator])
	if err != nil {
		return nil, err
	}
	text, found, why := guessText(head, sep)
	if a.layout == nil {
		a.layout = text
		if text != nil {
			m.guesses = append(m.guesses, withSet("no metadata, taken as "+text.name+": "+why, optFormat))
		}
	}
	if sep == "" {
		sep = found
	}
	if a.layout == nil && printable(head) {
		err = fmt.Errorf("no metadata, and lines of no format of Angel, the first %q: %w", clip(firstLine(head)), format.ErrUnknown)
	} else if a.layout != nil && (a.layout.loose || a.layout.framed) {
		err = fmt.Errorf("no metadata, without which %s cannot be read: %w", a.layout.name, format.ErrVersion)
	} else if a.layout != nil && a.layout.text {
		err = guessFromText(ctx, b, d, m, a, style{sep: sep, comma: o.Set[optDecimal] == "comma"})
	} else {
		err = guessFromBinary(ctx, b, d, m, a, head)
	}
	if err != nil {
		return nil, err
	}
	m.class = a.class(m)
	return m, nil
}

// printable reports whether bytes are text, of which no binary numbers are to be guessed.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func firstLine(b []byte) []byte {
	if end := bytes.IndexAny(b, "\r\n"); end >= 0 {
		return b[:end]
	}
	return b
}

// guessNodes reads text of node vectors as if there were no metadata, which speak of Java objects; nil if it is none.
func (c codec) guessNodes(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta, o *format.Options) *matrixMeta {
	if !m.rowType.Object() || !isEmbedding(m.class) {
		return nil
	}
	g, err := c.guess(ctx, b, d, o)
	if err != nil || g.class != embeddingText.className() {
		return nil
	}
	g.name, g.class = m.name, m.class
	g.guesses = append(g.guesses, fmt.Sprintf("the metadata say %v, whose vectors are read from the text alone", m.rowType))
	return g
}

// class is the name of the format, which the guess may have put into the metadata.
func (a *asked) class(m *matrixMeta) string {
	if a.layout != nil {
		return a.layout.className()
	}
	return m.class
}

// guessServer completes what parameter servers say: format, row type and columns.
func (c codec) guessServer(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta, o *format.Options) error {
	a, err := c.asks(o)
	if err != nil {
		return err
	}
	m.rowType, m.class = a.kind, snapshot.className()
	if a.layout != nil {
		m.class = a.layout.className()
	}
	if a.cols >= 0 {
		m.cols = a.cols
	}
	if a.rows >= 0 {
		m.rows = int32(a.rows)
	}
	if a.kind < 0 {
		g, err := guessSnapshot(ctx, b, d, m, a.layout)
		if err != nil {
			return err
		}
		m.rowType = g.kind(m, a.key)
		m.guesses = append(m.guesses, withSet(fmt.Sprintf("row type taken as %v: %s", m.rowType, g.why), optRowType))
	}
	return nil
}

// widths are the sizes of column ids and values that data have, and whether values look like floats.
type widths struct {
	key, value int
	floats     bool
	sparse     bool
	why        string
}

func (g *widths) kind(m *matrixMeta, key int) rowType {
	d := map[bool]map[int]matrix.DType{true: {4: matrix.F32, 8: matrix.F64}, false: {4: matrix.I32, 8: matrix.I64}}[g.floats][g.value]
	t := matrix.Meta{DType: d}
	if g.sparse {
		t.Layout = matrix.RowSparse
	}
	if key == 8 || key == 0 && g.key == 8 {
		t.ColLo = math.MinInt64 / 2
	}
	return chooseRowType(&t, d)
}

// guessSnapshot finds the widths that fit the lengths of all partitions.
func guessSnapshot(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta, l *layout) (widths, error) {
	var fits []widths
	for _, key := range []int{4, 8} {
		for _, value := range []int{4, 8} {
			g := widths{key: key, value: value}
			if g.fits(m, l) && (g.sparse || key == 4) {
				fits = append(fits, g)
			}
		}
	}
	for i := range fits {
		ok, err := fits[i].look(ctx, b, d, m)
		if err != nil {
			return widths{}, err
		}
		if ok {
			return fits[i], nil
		}
	}
	return widths{}, fmt.Errorf("no width of ids and values fits the lengths of the partitions as a snapshot, name %s and %s: %w",
		optFormat, optRowType, format.ErrVersion)
}

// fits compares the lengths of the partitions.
func (g *widths) fits(m *matrixMeta, l *layout) bool {
	s := style{long: g.key == 8}
	for i := range m.parts {
		p := &m.parts[i]
		want := int64(0)
		for _, r := range p.rowMetas.all() {
			u := l
			if u == nil || u.snapshot {
				u = &valueBinary
				if r.kind != 0 {
					u, g.sparse = &colIDValueBinary, true
				}
			}
			want += int64(r.n) * u.fixed(s, 1, g.value)
		}
		if l != nil && (l.text || l.column) {
			return false
		}
		if want != p.size {
			return false
		}
	}
	return true
}

// look reads the first values, and checks the ids beside them.
func (g *widths) look(ctx context.Context, b blob.Bucket, d *dir, m *matrixMeta) (bool, error) {
	g.floats, g.why = true, "nothing is stored"
	for i := range m.parts {
		p := &m.parts[i]
		if p.size == 0 || p.rowMetas.n == 0 {
			continue
		}
		first := p.rowMetas.at(0)
		if first.n == 0 {
			continue
		}
		o, err := d.open(ctx, b, p)
		if err != nil {
			return false, err
		}
		defer o.Close()
		key := 0
		if first.kind != 0 {
			key = g.key
		}
		n := min(int64(first.n), 1024)
		raw := make([]byte, min(n*int64(key+g.value), max(0, o.Size()-p.off)))
		if err := wire.ReadAt(o, raw, p.off); err != nil {
			return false, err
		}
		ids, ok := g.split(raw, key)
		slices.Sort(ids)
		for i, id := range ids {
			if p.cols.Len() != 0 && !p.cols.Has(id) || i > 0 && id == ids[i-1] {
				return false, nil
			}
		}
		g.why = fmt.Sprintf("%d bytes for %d elements", p.size, p.nnz)
		return ok, nil
	}
	return true, nil
}

// open opens the data file of a partition.
func (d *dir) open(ctx context.Context, b blob.Bucket, p *partMeta) (blob.Object, error) {
	if _, ok := d.sizes[p.file]; !ok {
		return nil, p.at("data file %q is missing", p.file)
	}
	return b.Open(ctx, blob.Join(d.path, p.file))
}

// split reads ids and sees whether values are floats.
func (g *widths) split(raw []byte, key int) (ids []int64, ok bool) {
	each := key + g.value
	n := len(raw) / each
	floats, ints := 0, 0
	for i := range n {
		rec := raw[i*each:]
		switch key {
		case 4:
			ids = append(ids, int64(int32(wire.Big.Uint32(rec))))
		case 8:
			ids = append(ids, int64(wire.Big.Uint64(rec)))
		}
		f, k := likely(rec[key:], g.value)
		floats, ints = floats+f, ints+k
	}
	g.floats = floats >= ints
	return ids, 10*max(floats, ints) >= 9*n
}

// likely reports whether the bytes are a usual float, or a usual integer; zero is both.
func likely(b []byte, size int) (float, integer int) {
	if size == 4 {
		raw := wire.Big.Uint32(b)
		e := int(raw>>23&0xff) - 127
		return b2i(raw<<1 == 0 || e > -40 && e < 40), b2i(int32(raw) > -1<<24 && int32(raw) < 1<<24)
	}
	raw := wire.Big.Uint64(b)
	e := int(raw>>52&0x7ff) - 1023
	return b2i(raw<<1 == 0 || e > -60 && e < 60), b2i(int64(raw) > -1<<40 && int64(raw) < 1<<40)
}
