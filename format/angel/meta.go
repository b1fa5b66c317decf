package angel

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// maxMeta is the largest metadata file that is read: about four million rows of partitions.
const maxMeta = 512 << 20

// matrixMeta is what a metadata file says of one matrix.
type matrixMeta struct {
	id        int32
	name      string
	class     string // full Java name of the format
	rowType   rowType
	rows      int32
	cols      int64 // -1: unknown
	blockRow  int32 // -1: hash partitions
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
}

// origin is where a description comes from.
type origin int

const (
	fromJSON origin = iota
	fromServer
	fromLegacy
	fromData
)

// metaSum is the checksum that our metadata have of themselves, up to the key that holds it.
type metaSum struct {
	has  bool
	sum  uint32
	upTo int64 // place of the key
}

// partMeta is what it says of one partition.
type partMeta struct {
	id         int32
	rows, cols matrix.Range
	nnz        int64
	saved      counts
	file       string
	off, size  int64
	rowMetas   []rowMeta // in the order of the file, until check sorts them
	sum        uint32    // CRC-32C of the bytes, if hasSum
	hasSum     bool
	place      int64  // where in the metadata file the partition is described
	shift      int64  // to be added to stored column ids
	version    int64  // of our additions; 0: none. With them offsets of rows are true, and columns ascend
	present    []byte // of column formats: a bit for each value, whether its cell is there; nil: all are
	csr        csrPlaces
}

// counts are how many rows, columns, and values per column a partition stores; -1: not said.
type counts struct{ rows, cols, elems int32 }

// rowMeta is what it says of one row of a partition.
type rowMeta struct {
	id   int32
	off  int64
	n    int32 // stored elements; -1: not said
	kind int32 // saveType
}

// unframe takes the JSON out of a metadata file. base is the place of its first byte.
func unframe(b []byte) (json []byte, base int64, err error) {
	if len(b) > 0 && b[0] == '{' {
		return b, 0, nil
	}
	if len(b) < 4 {
		return nil, 0, &wire.At{Off: 0, Err: fmt.Errorf("%d bytes, want a length of 4: %w", len(b), wire.ErrTruncated)}
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	if n < 2 || len(b) > 4 && b[4] != '{' {
		return nil, 0, &wire.At{Off: 0, Err: fmt.Errorf("no JSON behind the length %d: %w", n, format.ErrVersion)}
	}
	if n > int64(len(b)-4) {
		return nil, 0, &wire.At{Off: 0, Err: fmt.Errorf("length of the JSON is %d, %d bytes remain: %w", n, len(b)-4, wire.ErrTruncated)}
	}
	return b[4 : 4+n], 4, nil
}

// parseMeta reads a whole metadata file.
func parseMeta(b []byte, sums bool) (*matrixMeta, error) {
	json, base, err := unframe(b)
	if err != nil {
		return nil, err
	}
	s := &scanner{b: json, base: base}
	m := &matrixMeta{id: -1, rowType: -1, rows: -1, cols: -1, blockRow: -1, blockCol: -1, plain: base == 0, options: map[string]string{}}
	s.object(func(key []byte, off int64) { m.member(s, string(key), off) })
	if s.peek() != 0 {
		s.fail(s.off(), "bytes behind the end of the JSON")
	}
	if s.err != nil {
		return nil, s.err
	}
	if m.sum.has && sums {
		if got := crc32.Checksum(json[:max(0, m.sum.upTo-base-1)], castagnoli); got != m.sum.sum {
			return nil, &wire.At{Off: m.sum.upTo, Err: fmt.Errorf("checksum of the metadata is %08x, want %08x", got, m.sum.sum)}
		}
	}
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
		m.sum.upTo = off
		s.object(func(key []byte, _ int64) {
			switch string(key) {
			case "version":
				m.version = s.integer("version", 1, math.MaxInt32)
			case "crc32c":
				m.sum.sum, m.sum.has = uint32(s.integer("crc32c", 0, math.MaxUint32)), true
			default:
				s.skip(0)
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

// ownKey is where our additions are, of the matrix and of each partition. Angel's parser passes over it.
const ownKey = "thole"

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
	if k := len(p.rowMetas); k > 0 && p.rowMetas[k-1].id >= r.id {
		m.unordered = true
	}
	p.rowMetas = append(p.rowMetas, r)
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
