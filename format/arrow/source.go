package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// source is a file or a stream, as far as its structure goes.
type source struct {
	*schema
	stream  bool
	legacy  bool // messages as before version 0.15
	bare    bool // the schema before the batches has no frame
	open    bool // a stream without the mark at its end
	version int16
	rows    int64
	batches []*batch
	places  [][3]int64 // of the record batches: first byte, bytes before the body, bytes of the body
	words   [][3]int64 // the same of the dictionary batches
	more    int64      // bytes in buffers behind the values
	footer  int64      // where the footer begins; the end of a stream
	unpacker
}

// String says in a few words what the file is.
func (s *source) String() string {
	kind := "file"
	if s.stream {
		kind = "stream"
	}
	text := fmt.Sprintf("%s, metadata V%d, %d columns, %d record batches", kind, s.version+1, len(s.fields), len(s.batches))
	packed := map[int8]bool{}
	for _, b := range s.batches {
		if b.packing != plain && !packed[b.packing] {
			packed[b.packing] = true
			text += ", " + packings[b.packing]
		}
	}
	if s.order == wire.Big {
		text += ", big-endian"
	}
	if s.bare {
		text += ", schema without a frame"
	}
	if s.legacy {
		text += ", framed as before version 0.15"
	}
	return text
}

// settings are the options for reading.
type settings struct {
	nulls nulls
	skip  bool // columns that are not of numbers
	open  bool // streams without a mark at their end are whole
}

// readSource reads the structure of a file or stream.
func readSource(o blob.Object, w settings) (*source, error) {
	s := &source{}
	start := make([]byte, min(o.Size(), int64(len(magic))))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return s, err
	}
	switch {
	case string(start) == magic:
		return s, s.readFile(o, w)
	case strings.HasPrefix(string(start), "FEA1"):
		return s, &wire.At{Err: fmt.Errorf("a Feather file of version 1, want version 2: %w", format.ErrVersion)}
	}
	s.stream, s.footer = true, o.Size()
	if err := s.messages(o, 0, w); err != nil {
		if s.schema == nil && !errors.Is(err, format.ErrVersion) && !strings.HasPrefix(string(start), endMark[:4]) {
			// Nothing says that it is one of ours, so the place of an error in it means nothing.
			return s, corrupt(0, "%q at the begin, want %q or a message of a schema", start, magic)
		}
		return s, err
	}
	if s.open && !w.open {
		return s, corrupt(s.footer, "the stream ends without its mark, rows may be missing (the option open=true takes it as it is)")
	}
	return s, nil
}

// readFile reads a footer, then the messages, and compares them.
func (s *source) readFile(o blob.Object, w settings) error {
	size := o.Size()
	if size < startLen+tailLen {
		return corrupt(size, "%d bytes, want %d at least", size, startLen+tailLen)
	}
	var tail [tailLen]byte
	if err := wire.ReadAt(o, tail[:], size-tailLen); err != nil {
		return err
	}
	if end := string(tail[4:]); end != magic {
		return corrupt(size-int64(len(magic)), "%q at the end, want %q", end, magic)
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail[:])))
	if n < 0 || n > size-tailLen-startLen {
		return corrupt(size-tailLen, "footer of %d bytes in a file of %d", n, size)
	}
	if n > metaLimit {
		return &wire.At{Off: size - tailLen, Err: fmt.Errorf("footer of %d bytes, want at most %d: %w", n, metaLimit, format.ErrLimit)}
	}
	s.footer = size - tailLen - n
	var pad [startLen - len(magic)]byte
	if err := wire.ReadAt(o, pad[:], int64(len(magic))); err != nil {
		return err
	}
	if pad != [2]byte{} {
		return corrupt(int64(len(magic)), "% x behind the magic, want zeros", pad[:])
	}
	raw := make([]byte, n)
	if err := wire.ReadAt(o, raw, s.footer); err != nil {
		return err
	}
	f := newFlat(raw, s.footer)
	err := s.readFooter(o, f.root(), w)
	if err == nil {
		err = f.end(footerSpec)
	}
	if err != nil {
		if _, placed := err.(*wire.At); placed {
			return err
		}
		return &wire.At{Off: s.footer, Err: fmt.Errorf("footer: %w", err)}
	}
	return nil
}

func (s *source) readFooter(o blob.Object, root tab, w settings) error {
	version := root.i16(0, 0)
	blocks, words := root.longs(3, 24), root.longs(2, 24)
	if root.f == nil {
		return fmt.Errorf("no table")
	}
	if root.f.err != nil {
		return root.f.err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	of, err := readSchema(root.tab(1), version, w.skip)
	if err != nil {
		return err
	}
	s.schema, s.version = of, version
	if err := s.begin(o, firstBatch(blocks, words, s.footer), w); err != nil {
		return err
	}
	if !slices.Equal(of.fields, s.fields) || of.order != s.order {
		return fmt.Errorf("a schema that is not that of the messages")
	}
	if err := agree("dictionary", words, s.words); err != nil {
		return err
	}
	return agree("record", blocks, s.places)
}

// firstBatch is where the first batch begins that the footer names.
func firstBatch(blocks, words []int64, footer int64) int64 {
	first := footer
	for _, places := range [][]int64{blocks, words} {
		for i := 0; i < len(places); i += 3 {
			first = min(first, places[i])
		}
	}
	return max(first, startLen)
}

// begin reads the messages of a file, the first of which may be a bare schema.
func (s *source) begin(o blob.Object, first int64, w settings) error {
	m, err := readMessage(o, startLen, first)
	if err != nil || m.end || m.kind != kindSchema {
		if bare := bareSchema(o, startLen, first); bare != nil {
			if err := s.take(bare, w); err != nil {
				return err
			}
			s.bare = true
			return s.messages(o, bare.next(), w)
		}
	}
	return s.messages(o, startLen, w)
}

// agree checks that the footer names each batch once, in their order.
func agree(what string, blocks []int64, places [][3]int64) error {
	if len(blocks) != 3*len(places) {
		return fmt.Errorf("%d %s batches, and %d messages of them", len(blocks)/3, what, len(places))
	}
	for i, p := range places {
		named := [3]int64{blocks[3*i], int64(int32(blocks[3*i+1])), blocks[3*i+2]}
		if named != p {
			return fmt.Errorf("%s batch %d at byte %d with %d bytes before and %d in its body, and its message at byte %d has %d and %d",
				what, i, named[0], named[1], named[2], p[0], p[1], p[2])
		}
	}
	return nil
}

// messages reads the messages from off up to the footer.
func (s *source) messages(o blob.Object, off int64, w settings) error {
	s.open = true
	for off < s.footer {
		m, err := readMessage(o, off, s.footer)
		if err != nil {
			return err
		}
		if m.end {
			s.open = false
			if err := zeros(o, m.body, s.footer); err != nil {
				return err
			}
			break
		}
		s.legacy = s.legacy || m.prefix == 4
		if err := s.take(&m, w); err != nil {
			if _, placed := err.(*wire.At); placed {
				return err
			}
			return &wire.At{Off: m.off, Err: err}
		}
		off = m.next()
	}
	if s.schema == nil {
		return corrupt(off, "no schema")
	}
	return nil
}

// take reads one message.
func (s *source) take(m *message, w settings) error {
	if err := checkVersion(m.version); err != nil {
		return err
	}
	place := [3]int64{m.off, m.body - m.off, m.size}
	switch {
	case m.kind == kindSchema && m.off <= startLen:
		of, err := readSchema(m.head, m.version, w.skip)
		if err != nil {
			return err
		}
		s.schema, s.version = of, m.version
		return nil
	case s.schema == nil:
		return fmt.Errorf("a %s, want a schema first", kindName(m.kind))
	case m.kind == kindBatch:
		b, more, err := newBatch(m, s.schema, s.rows)
		if err != nil {
			return fmt.Errorf("record batch %d: %w", len(s.batches), err)
		}
		b.words = len(s.words)
		s.batches, s.places = append(s.batches, b), append(s.places, place)
		s.rows, s.more = b.rows.Hi, s.more+more
		return nil
	case m.kind == kindDictionary && s.dictionary:
		s.words = append(s.words, place)
		return nil
	}
	return fmt.Errorf("a %s, want a record batch", kindName(m.kind))
}

// zeros checks that nothing but a few zeros stands between the places.
func zeros(o blob.Object, from, to int64) error {
	if to-from >= padLimit {
		return corrupt(from, "%d bytes behind the end of the stream", to-from)
	}
	pad := make([]byte, to-from)
	if err := wire.ReadAt(o, pad, from); err != nil {
		return err
	}
	for i, v := range pad {
		if v != 0 {
			return corrupt(from+int64(i), "byte %02x behind the end of the stream, want zeros", v)
		}
	}
	return nil
}

// meta describes the matrix; fits is false if what we keep of a matrix of ours is about another table.
func (s *source) meta(matrixName string) (m matrix.Meta, fits bool, err error) {
	some := s.numbers()
	m = matrix.Meta{Name: matrixName, Unnamed: true, Rows: s.rows, DType: matrix.F64}
	if n := len(some); n > 0 {
		m.Cols = some[n-1].cols.Hi
	}
	if slices.ContainsFunc(some, func(f *field) bool { return f.origin != "" }) {
		if m.Cols > readLimit {
			return m, true, fmt.Errorf("lists of %d times, want at most %d: %w", m.Cols, readLimit, format.ErrLimit)
		}
		m.ColOrigins = make([]string, m.Cols)
	}
	if len(some) == 1 && some[0].list {
		m.DType = some[0].held()
		for i := range m.ColOrigins {
			m.ColOrigins[i] = some[0].origin
		}
	} else {
		for _, f := range some {
			for i := range f.width() {
				if m.ColOrigins != nil {
					m.ColOrigins[f.cols.Lo+i] = f.origin
				}
				label := f.name
				if f.list {
					label = fmt.Sprintf("%s[%d]", f.name, i)
				}
				m.Labels, m.ColTypes = append(m.Labels, label), append(m.ColTypes, f.held())
			}
		}
		one(&m)
	}
	if m.Check() != nil {
		return m, true, &wire.At{Off: s.footer, Err: fmt.Errorf("%w: %w", m.Check(), format.ErrLimit)}
	}
	if owned, ok := s.own.apply(m); ok {
		return owned, true, nil
	}
	return m, false, nil
}

// widen makes f64 of the columns of whole numbers and truth values that have nulls. Times stay what they are.
func (s *source) widen() {
	for _, f := range s.numbers() {
		if f.raw.Float() || f.origin != "" {
			continue
		}
		for _, b := range s.batches {
			f.wide = f.wide || b.nulls(f.node) > 0 || f.list && b.nulls(f.node+1) > 0
		}
	}
}

// one takes the type of the columns as that of the matrix, if they all have the same.
func one(m *matrix.Meta) {
	if len(m.ColTypes) == 0 {
		return
	}
	for _, d := range m.ColTypes {
		if d != m.ColTypes[0] {
			return
		}
	}
	m.DType, m.ColTypes = m.ColTypes[0], nil
}

// apply adds what the schema cannot say; ok is false if it is not about such a table.
func (o *ownMeta) apply(m matrix.Meta) (_ matrix.Meta, ok bool) {
	m = m.Clone()
	if o.Types != nil && int64(len(o.Types)) != m.Cols || o.Labels != nil && int64(len(o.Labels)) != m.Cols {
		return m, false
	}
	if o.DType != "" || o.Types != nil {
		d, err := matrix.ParseDType(o.DType)
		if err != nil {
			return m, false
		}
		types := make([]matrix.DType, len(o.Types))
		for i, t := range o.Types {
			if types[i], err = matrix.ParseDType(t); err != nil || storedAs(types[i]) != m.ColType(int64(i)) {
				return m, false
			}
		}
		switch {
		case o.Types != nil:
			m.ColTypes = types
			one(&m)
		case m.ColTypes != nil || m.Cols > 0 && storedAs(d) != m.DType:
			return m, false
		default:
			m.DType = d
		}
	}
	if o.Made {
		m.Labels = nil
	}
	if o.Labels != nil {
		m.Labels = o.Labels
	}
	m.Dims = o.Dims
	return m, m.Check() == nil
}
