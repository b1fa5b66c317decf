package paddle

import (
	"encoding/binary"

	"thole.example/format"
)

// layoutP is what Paddle's tree wrote for some weeks in October 2017:
//
//	0   u64   size s of the description
//	8   u64   size m of the values
//	16  s     LoDTensorProto: field 1 element type, 2 dimensions, 3 LoD levels (field 1 their offsets), 4 number of levels
//	    m     values, row-major
//
// All numbers are little-endian. A file may hold several tensors, behind each other or each followed by a line feed. They
// have no names: one is called as the file, several tensor_0, tensor_1 and so on.
var layoutP = layout{name: "pr4602", like: likeP, walk: walkP}

func likeP(head []byte, size int64) bool {
	if len(head) < 18 {
		return false
	}
	s, m := binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint64(head[8:])
	return s >= 2 && s <= uint64(max(size, maxDesc)) && m < 1<<48 && head[16] == 1<<3|wireVarint
}

func walkP(l *listing) {
	lines := breaksP(l)
	s := l.scan
	var found []record
	for s.err == nil && (s.off < s.size || len(found) == 0) {
		l.head("tensor %d", len(found))
		r := l.readP()
		if lines && s.off < s.size {
			if b := s.take(1, "line feed"); b != nil && b[0] != '\n' {
				s.fault(FaultTrailing, s.off-1, "byte %#02x behind the values, want a line feed as behind the first tensor", b[0])
			}
			s.means("line feed")
		}
		found = append(found, r)
	}
	l.addUnnamed(found...)
	if lines {
		l.note("a line feed behind each tensor")
	}
}

// breaksP reports whether a line feed stands behind the tensors: if they do not follow each other without, to the end.
func breaksP(l *listing) bool {
	var off uint64
	size := uint64(l.scan.size)
	for off < size {
		var head [16]byte
		if size-off < 16 || readAt(l.scan.r, head[:], int64(off)) != nil {
			break
		}
		s, m := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
		if rest := size - off - 16; s > rest || m > rest-s {
			break
		}
		off += 16 + s + m
	}
	if off == size {
		return false
	}
	var head [17]byte
	if readAt(l.scan.r, head[:16], 0) != nil {
		return false
	}
	s, m := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	if s > size || m > size || 16+s+m >= size {
		return false
	}
	return readAt(l.scan.r, head[16:], int64(16+s+m)) == nil && head[16] == '\n'
}

// readP walks over one tensor.
func (l *listing) readP() record {
	s := l.scan
	start := s.off
	n := s.number(s.size-s.off, "size of the description")
	s.means("description of %d bytes", n)
	m := s.number(s.size-s.off, "size of the values")
	s.means("values of %d bytes", m)
	b := s.take(n, "description")
	at := s.off - n
	d := parseDesc(s, b, true)
	s.means("element type %d (%s), dimensions %v, LoD %v", d.code, typeText(d.code), d.dims, d.lod)
	for _, f := range d.odd {
		l.note("field %d of the description, with value %d, is not known", f.number, f.value)
	}
	r, size := l.record(&d, at)
	if s.err == nil && d.depth != int64(len(d.lod)) {
		s.fault(FaultLoD, at, "%d LoD levels, want %d, as field 4 says", len(d.lod), d.depth)
	}
	if s.err == nil {
		if err := checkLoD(d.lod, r.dims); err != nil {
			s.fault(FaultLoD, at, "%w", err)
		}
	}
	if size != m {
		s.fault(FaultDesc, start+8, "size of the values is %d, want %d for dimensions %v: %w", m, size, d.dims, format.ErrCorrupt)
	}
	l.readValues(&r, size)
	r.start = start
	return r
}
