package angel

import (
	"fmt"
	"strings"

	"thole.example/format"
	"thole.example/wire"
)

// put is what a Part says: a partition that lies in the stage.
type put struct {
	matrix string
	cell   int32 // the cell of the grid that the partition is; -1: none
	raw    bool  // it is kept as plan.raw says
	part   partMeta
}

// encode gives the bytes of a Part: the length of a JSON text, as four bytes, the text, and the list of rows.
func (u *put) encode() format.Part {
	dst := appendQuoted(append(make([]byte, 4), `{"matrix":`...), u.matrix)
	dst = appendKey(append(dst, ','), "cell", int64(u.cell))
	dst = appendKey(append(dst, ','), "raw", int64(b2i(u.raw)))
	dst = append(appendPartEnd(appendPartHead(append(dst, `,"part":`...), &u.part), &u.part), '}')
	wire.Big.PutUint32(dst, uint32(len(dst)-4))
	return u.part.rowMetas.append(dst)
}

func decodePut(b format.Part) (*put, error) {
	u := &put{cell: -1}
	c := wire.NewCursor(b, 0, wire.Big)
	text := c.Bytes(c.Count(int64(c.U32("length of a part")), 1, int64(len(b)), "bytes of a part"), "part")
	if c.Err() != nil {
		return nil, c.Err()
	}
	s := &scanner{b: text, base: 4}
	var m matrixMeta
	s.object(func(key []byte, _ int64) {
		switch string(key) {
		case "matrix":
			u.matrix = s.text()
		case "cell":
			u.cell = s.int32("cell", -1)
		case "raw":
			u.raw = s.int32("raw", 0) != 0
		case "part":
			s.object(func(key []byte, _ int64) { u.part.member(s, string(key), &m) })
		default:
			s.skip(0)
		}
	})
	if s.peek() != 0 {
		s.fail(s.off(), "bytes behind a part")
	}
	if s.err == nil && (u.part.file == "" || strings.Contains(u.part.file, "/")) {
		s.err = &wire.At{Off: 0, Err: fmt.Errorf("part with file %q", u.part.file)}
	}
	if s.err == nil {
		u.part.rowMetas, s.err = readRowList(c.Bytes(c.Len(), "rows"), c.Off())
	}
	return u, s.err
}
