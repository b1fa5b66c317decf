package daphne

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"

	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
)

// piece is a block of the file whose bytes wait in a spool: in an object of the stage, or, with "=" and the writer, in
// the writer's own object. A piece without spool is an empty block that still has to be written.
type piece struct {
	Spool      string
	Off, Len   int64
	Rows, Cols [2]int64
	NNZ        int64
}

func (p piece) at() matrix.Rect {
	return matrix.At(p.Rows[0], p.Rows[1], p.Cols[0], p.Cols[1])
}

func newPiece(spool string, off, size int64, b matrix.Block) piece {
	return piece{
		Spool: spool, Off: off, Len: size, NNZ: int64(b.Data.NNZ()),
		Rows: [2]int64{b.At.Rows.Lo, b.At.Rows.Hi}, Cols: [2]int64{b.At.Cols.Lo, b.At.Cols.Hi},
	}
}

// newPart is what a Put answers: its pieces as JSON.
func newPart(pieces []piece) (format.Part, error) { return json.Marshal(pieces) }

// pieces reads the parts of a save.
func (w *writer) pieces(parts []format.Part) (all []piece, err error) {
	for _, part := range parts {
		var some []piece
		if err := json.Unmarshal(part, &some); err != nil {
			return nil, fmt.Errorf("part: %w", err)
		}
		for _, p := range some {
			if err := w.checkPiece(p); err != nil {
				return nil, err
			}
		}
		all = append(all, some...)
	}
	return all, nil
}

func (w *writer) checkPiece(p piece) error {
	own, direct := strings.CutPrefix(p.Spool, "=")
	end, carry := bits.Add64(uint64(p.Off), uint64(p.Len), 0)
	switch {
	case direct != (w.stage == nil) || direct && own != w.id || p.Spool == "" || strings.Contains(p.Spool, "/"):
		return fmt.Errorf("part %q of another save", p.Spool)
	case p.Off < 0 || p.Len < 0 || p.NNZ < 0 || carry != 0 || end >= 1<<63:
		return fmt.Errorf("part at byte %d, %d bytes, %d cells, want none below 0", p.Off, p.Len, p.NNZ)
	case !w.rect().Contains(p.at()) || p.at().Empty():
		return fmt.Errorf("part with the place %v, want one within %v", p.at(), w.rect())
	}
	return nil
}

// emptyBlock is the bytes of an empty block.
func (p *plan) emptyBlock(at matrix.Rect) ([]byte, error) {
	e := blockio.Encoder{Codes: p.codes}
	return e.Append(nil, matrix.Block{At: at, Data: matrix.Empty{D: p.colType(at.Cols.Lo)}})
}
