package angel

import (
	"math"
	"strconv"

	"thole.example/matrix"
)

// ownKey is where our additions are, of the matrix and of each partition. Angel's parser passes over it.
const ownKey = "thole"

// ownMeta is what our key says of a matrix besides checksums: what Angel has no place for. What is nil or empty is not there.
type ownMeta struct {
	saved   []matrix.Range // the saved rows, where rows without cells are not listed
	dims    []int64        // the others are as in matrix.Meta
	labels  []string
	lod     [][]int64
	origin  string
	origins []string
}

// ownOf is what the key has to say of a matrix. The saved rows are not known before all is written.
func ownOf(m *matrix.Meta) ownMeta {
	o := ownMeta{labels: m.Labels, lod: m.LoD, origin: m.Origin, origins: m.ColOrigins}
	if m.Shaped() {
		o.dims = m.Dims
	}
	return o
}

// apply gives the matrix what the key says of it.
func (o *ownMeta) apply(m *matrix.Meta) {
	m.Dims, m.Labels, m.LoD, m.ColOrigins = o.dims, o.labels, o.lod, o.origins
	if o.origin != "" {
		m.Origin = o.origin
	}
	if o.saved != nil {
		m.Saved = rowSet(o.saved).merged()
		if len(o.saved) == 1 && o.saved[0] == (matrix.Range{Hi: m.Rows}) {
			m.Saved = nil
		}
	}
}

// appendOwn appends the members of the key, each behind a comma.
func appendOwn(dst []byte, o *ownMeta) []byte {
	if o.saved != nil {
		dst = appendList(dst, "saved", o.saved, func(dst []byte, r matrix.Range) []byte {
			return appendInts(dst, []int64{r.Lo, r.Hi})
		})
	}
	if o.dims != nil {
		dst = appendInts(append(dst, `,"dims":`...), o.dims)
	}
	if o.labels != nil {
		dst = appendList(dst, "labels", o.labels, appendQuoted)
	}
	if o.lod != nil {
		dst = appendList(dst, "lod", o.lod, appendInts)
	}
	if o.origin != "" {
		dst = appendQuoted(append(dst, `,"origin":`...), o.origin)
	}
	if o.origins != nil {
		dst = appendList(dst, "origins", o.origins, appendQuoted)
	}
	return dst
}

func appendInts(dst []byte, v []int64) []byte {
	dst = append(dst, '[')
	for i, n := range v {
		dst = strconv.AppendInt(append(dst, ","[b2i(i == 0):]...), n, 10)
	}
	return append(dst, ']')
}

func appendList[E any](dst []byte, key string, list []E, one func([]byte, E) []byte) []byte {
	dst = append(append(append(dst, `,"`...), key...), `":[`...)
	for i, e := range list {
		dst = one(append(dst, ","[b2i(i == 0):]...), e)
	}
	return append(dst, ']')
}

// member reads what one member of the key says.
func (o *ownMeta) member(s *scanner, key string) {
	switch key {
	case "saved":
		o.saved = scanList(s, func() matrix.Range {
			at := s.off()
			v := s.integers()
			if len(v) != 2 {
				s.fail(at, "%d numbers for a range of rows, want 2", len(v))
				return matrix.Range{}
			}
			return matrix.Range{Lo: v[0], Hi: v[1]}
		})
	case "dims":
		o.dims = s.integers()
	case "labels":
		o.labels = scanList(s, s.text)
	case "lod":
		o.lod = scanList(s, s.integers)
	case "origin":
		o.origin = s.text()
	case "origins":
		o.origins = scanList(s, s.text)
	default:
		s.skip(0)
	}
}

func (s *scanner) integers() []int64 {
	return scanList(s, func() int64 { return s.integer("number in a list", math.MinInt64, math.MaxInt64) })
}

// scanList reads a list; it is empty and not nil if there is nothing in it.
func scanList[E any](s *scanner, one func() E) []E {
	list := []E{}
	s.list(func() { list = append(list, one()) })
	return list
}
