package angel

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// maxMeta is the most JSON that a metadata file holds, as its length of four bytes can say: rows of partitions by the tens
// of millions. maxWhole is how large metadata may be that are read as a whole: those that are not JSON, or are explained.
const (
	maxMeta  = math.MaxInt32
	maxWhole = 512 << 20
)

// matrixMeta is what a metadata file says of one matrix.
type matrixMeta struct {
	id        int32
	name      string
	class     string // full Java name of the format
	rowType   rowType
	rows      int32
	cols      int64 // -1: unknown
	blockRow  int32 // -1: hash partitions; 0: not said
	blockCol  int64
	options   map[string]string
	parts     []partMeta
	origin    origin
	version   int64    // of our additions; 0: none
	plain     bool     // the JSON came without its length
	unordered bool     // rows of a partition were not listed in ascending order
	unknown   []string // keys that nobody knows
	guesses   []string // what was guessed without metadata, and why
	fault     error    // why values cannot be read, of types that are known and not read
	sum       metaSum
	own       ownMeta
	flat      bool // rows are written with the offset of their partition
}

// origin is where a description comes from.
type origin int

const (
	fromJSON origin = iota
	fromServer
	fromLegacy
	fromData
)

// metaSum is the checksum that our metadata have of themselves: up to our key, or, from version 2 on, which says more in
// it, up to the member that holds the sum.
type metaSum struct {
	has      bool
	sum, got uint32
	upTo     int64 // place of the key or the member; the comma before it does not count
}

// partMeta is what it says of one partition.
type partMeta struct {
	id         int32
	rows, cols matrix.Range
	nnz        int64
	saved      counts
	file       string
	off, size  int64
	rowMetas   rowList // in the order of the file, until check sorts them
	sum        uint32  // CRC-32C of the bytes, if hasSum
	hasSum     bool
	place      int64  // where in the metadata file the partition is described
	shift      int64  // to be added to stored column ids
	version    int64  // of our additions; 0: none. With them offsets of rows are true, and columns ascend
	present    []byte // of column formats: a bit for each value, whether its cell is there; nil: all are
	csr        csrPlaces
}

// counts are how many rows, columns, and values per column a partition stores; -1: not said.
type counts struct{ rows, cols, elems int32 }

// frame finds the JSON in a metadata file of so many bytes that begins with head: from base to before end.
func frame(head []byte, size int64) (base, end int64, err error) {
	if len(head) > 0 && head[0] == '{' {
		if size > maxMeta {
			return 0, 0, &wire.At{Off: 0, Err: fmt.Errorf("%d bytes of metadata, want at most %d: %w", size, int64(maxMeta), format.ErrLimit)}
		}
		return 0, size, nil
	}
	if len(head) < 4 {
		return 0, 0, &wire.At{Off: 0, Err: fmt.Errorf("%d bytes, want a length of 4: %w", size, wire.ErrTruncated)}
	}
	n := int64(int32(binary.BigEndian.Uint32(head)))
	if n < 2 || len(head) > 4 && head[4] != '{' {
		return 0, 0, &wire.At{Off: 0, Err: fmt.Errorf("no JSON behind the length %d: %w", n, format.ErrVersion)}
	}
	if n > size-4 {
		return 0, 0, &wire.At{Off: 0, Err: fmt.Errorf("length of the JSON is %d, %d bytes remain: %w", n, size-4, wire.ErrTruncated)}
	}
	return 4, 4 + n, nil
}

// unframe takes the JSON out of a metadata file. base is the place of its first byte.
func unframe(b []byte) (json []byte, base int64, err error) {
	base, end, err := frame(b[:min(len(b), 5)], int64(len(b)))
	return b[base:end], base, err
}

// parseMeta reads a whole metadata file.
func parseMeta(b []byte, sums bool) (*matrixMeta, error) {
	json, base, err := unframe(b)
	if err != nil {
		return nil, err
	}
	return scanMeta(&scanner{b: json, base: base}, sums)
}

// scanMeta reads the JSON of a metadata file.
func scanMeta(s *scanner, sums bool) (*matrixMeta, error) {
	base := s.base
	m := &matrixMeta{id: -1, rowType: -1, rows: -1, cols: -1, plain: base == 0, options: map[string]string{}}
	s.object(func(key []byte, off int64) { m.member(s, string(key), off) })
	if s.peek() != 0 {
		s.fail(s.off(), "bytes behind the end of the JSON")
	}
	if s.err != nil {
		return nil, s.err
	}
	if m.sum.has && sums && m.sum.got != m.sum.sum {
		return nil, &wire.At{Off: m.sum.upTo, Err: fmt.Errorf("checksum of the metadata is %08x, want %08x", m.sum.got, m.sum.sum)}
	}
	var err error
	switch {
	case m.class == "":
		err = fmt.Errorf("metadata without formatClassName")
	case m.rows < 0:
		err = fmt.Errorf("metadata without row")
	case m.rowType < 0:
		err = fmt.Errorf("metadata without rowType")
	}
	if err != nil {
		return nil, &wire.At{Off: base, Err: err}
	}
	return m, nil
}

func (m *matrixMeta) member(s *scanner, key string, off int64) {
	switch key {
	case "matrixId":
		m.id = s.int32(key, math.MinInt32)
	case "matrixName":
		m.name = s.text()
	case "formatClassName":
		m.class = s.text()
	case "rowType":
		m.rowType = rowType(s.int32(key, 0))
	case "row":
		m.rows = s.int32(key, 0)
	case "col":
		m.cols = s.integer(key, -1, math.MaxInt64)
	case "blockRow":
		m.blockRow = s.int32(key, -1)
	case "blockCol":
		m.blockCol = s.integer(key, -1, math.MaxInt64)
	case "options":
		if s.peek() != '{' {
			s.skip(0) // null
			return
		}
		s.object(func(key []byte, _ int64) { m.options[string(key)] = s.text() })
	case "partMetas":
		s.object(func(key []byte, off int64) {
			p := partMeta{id: -1, place: off, nnz: -1, saved: counts{-1, -1, -1}, off: -1, size: -1}
			if id, n := parseInt32(key); n == len(key) {
				p.id = id
			}
			s.object(func(key []byte, _ int64) { p.member(s, string(key), m) })
			p.require(s)
			m.parts = append(m.parts, p)
		})
	case ownKey:
		m.sum.upTo, m.sum.got = off, s.sumBefore(off-1)
		s.object(func(key []byte, off int64) {
			switch string(key) {
			case "version":
				m.version = s.integer("version", 1, math.MaxInt32)
			case "crc32c":
				if m.version > 1 {
					m.sum.upTo, m.sum.got = off, s.sumBefore(off-1)
				}
				m.sum.sum, m.sum.has = uint32(s.integer("crc32c", 0, math.MaxUint32)), true
			default:
				m.own.member(s, string(key))
			}
		})
	default:
		m.unknown = append(m.unknown, key)
		s.skip(0)
	}
}

// int32 takes a number from lo to the largest int32.
func (s *scanner) int32(what string, lo int64) int32 {
	return int32(s.integer(what, lo, math.MaxInt32))
}

func (p *partMeta) member(s *scanner, key string, m *matrixMeta) {
	switch key {
	case "partId":
		p.id = s.int32(key, 0)
	case "startRow":
		p.rows.Lo = s.integer(key, 0, math.MaxInt32)
	case "endRow":
		p.rows.Hi = s.integer(key, 0, math.MaxInt32)
	case "startCol":
		p.cols.Lo = s.integer(key, math.MinInt64, math.MaxInt64)
	case "endCol":
		p.cols.Hi = s.integer(key, math.MinInt64, math.MaxInt64)
	case "nnz":
		p.nnz = s.integer(key, math.MinInt64, math.MaxInt64)
	case "saveRowNum":
		p.saved.rows = s.int32(key, 0)
	case "saveColNum":
		p.saved.cols = s.int32(key, 0)
	case "saveColElemNum":
		p.saved.elems = s.int32(key, 0)
	case "fileName":
		p.file = s.text()
	case "offset":
		p.off = s.integer(key, 0, math.MaxInt64)
	case "length":
		p.size = s.integer(key, 0, math.MaxInt64)
	case "rowMetas":
		s.object(func(key []byte, _ int64) { p.row(s, key, m) })
	case ownKey:
		s.object(func(key []byte, _ int64) { p.extra(s, string(key)) })
	default:
		s.skip(0)
	}
}

// extra reads one of our additions to a partition.
func (p *partMeta) extra(s *scanner, key string) {
	switch key {
	case "version":
		p.version = s.integer(key, 1, math.MaxInt32)
	case "crc32c":
		p.sum = uint32(s.integer(key, 0, math.MaxUint32))
		p.hasSum = true
	case "present":
		at := s.off()
		bits, err := base64.StdEncoding.DecodeString(s.text())
		if err != nil {
			s.fail(at, "present is not in base64: %w", err)
		}
		p.present = bits
	default:
		s.skip(0)
	}
}

func (p *partMeta) row(s *scanner, key []byte, m *matrixMeta) {
	r := rowMeta{id: -1, n: -1, off: -1}
	if id, n := parseInt32(key); n == len(key) {
		r.id = id
	}
	s.object(func(key []byte, _ int64) {
		switch string(key) {
		case "rowId":
			r.id = s.int32("rowId", 0)
		case "offset":
			r.off = s.integer("offset", math.MinInt64, math.MaxInt64)
		case "elementNum":
			r.n = s.int32("elementNum", 0)
		case "saveType":
			r.kind = s.int32("saveType", math.MinInt32)
		default:
			s.skip(0)
		}
	})
	p.list(r, m)
}

// list adds a row behind the others.
func (p *partMeta) list(r rowMeta, m *matrixMeta) {
	if p.rowMetas.n > 0 && p.rowMetas.last >= r.id {
		m.unordered = true
	}
	p.rowMetas.add(r)
}

// require reports what a partition cannot be read without.
func (p *partMeta) require(s *scanner) {
	switch {
	case s.err != nil:
	case p.id < 0:
		s.fail(p.place, "partition without partId")
	case p.file == "":
		s.fail(p.place, "partition %d without fileName", p.id)
	case p.off < 0 || p.size < 0:
		s.fail(p.place, "partition %d without offset or length", p.id)
	}
}
