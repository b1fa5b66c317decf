package paddle

// layoutB is the stream of Fluid 0.11, one variable in one file that has its name:
//
//	0   u32   tensor version, 0
//	4   i32   size s of the description
//	8   s     TensorDesc: field 1 element type, field 2 dimensions
//	    …     values, row-major
//	    u64   number of LoD levels, 0..16
//	          each level: u64 size in bytes, a multiple of 8, and so many offsets, u64 each
//
// All numbers are little-endian. Paddle looks neither at the end of the file nor at the offsets; we do.
var layoutB = layout{name: "v011", like: likeBare, walk: walkB}

// likeBare reports whether the bytes may begin a tensor with its version in front of its description.
func likeBare(head []byte, _ int64) bool {
	if len(head) < 10 {
		return false
	}
	n := int(head[4]) | int(head[5])<<8
	ok := head[0]|head[1]|head[2]|head[3]|head[6]|head[7] == 0 && n >= 2 && n <= maxDesc && head[8] == 1<<3|wireVarint
	return ok && (n == 2 || len(head) < 11 || head[10] != 0 && head[10]>>3 <= 3) // a tag, not the zeros of a number
}

func walkB(l *listing) {
	s := l.scan
	l.head("tensor")
	r := l.readBare(l.ownName())
	l.head("LoD")
	at := s.off
	r.lod = readLevels(s)
	if s.err == nil {
		if err := checkLoD(r.lod, r.dims); err != nil {
			s.fault(FaultLoD, at+16, "%w", err) // the first offset
		}
	}
	l.addUnnamed(r)
	l.end("the LoD")
}

// readLevels reads LoD levels whose sizes are given in bytes.
func readLevels(s *scan) [][]int64 {
	levels := s.number(maxLevels, "number of LoD levels")
	s.means("%d LoD levels", levels)
	var lod [][]int64
	for i := range levels {
		size := s.number(s.size-s.off, "size of a LoD level")
		if size%8 != 0 {
			s.fault(FaultLoD, s.off-8, "size of a LoD level is %d bytes, want a multiple of 8", size)
		}
		s.means("level %d: %d bytes", i, size)
		lod = append(lod, s.sizes(size/8, true, "offset"))
		s.means("offsets of level %d", i)
	}
	return lod
}

// number reads a u64 that counts things, 0 to limit.
func (s *scan) number(limit int64, what string) int64 {
	b := s.take(8, what)
	if b == nil {
		return 0
	}
	if n := s.order.Uint64(b); n > uint64(max(limit, 0)) {
		s.fault(faultOf(what), s.off-8, "%s is %d, want 0..%d", what, n, max(limit, 0))
		return 0
	}
	return int64(s.order.Uint64(b))
}
