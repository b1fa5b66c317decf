package gbdt

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// A shard on its way to the worker that is to learn from it is, little-endian and without gaps:
//
//	codes    Stride bytes of each row (kernel.Codes)
//	labels   float32 of each row
//	weights  float32 of each row, if there are any
//	groups   int64 of each row, if the objective asks for them
//	starts   float64 of each row, all of class 0, then those of class 1, and so on, if there are any

// ShardLen is how many bytes so many rows take in Pack.
func (s *Setup) ShardLen(rows int) int64 {
	each := s.Layout.shape.Stride + 4
	if s.weights {
		each += 4
	}
	if s.groups {
		each += 8
	}
	if s.starts {
		each += 8 * len(s.Start)
	}
	return int64(rows) * int64(each)
}

// Pack appends rows, none of which is held out, and their labels.
func (s *Setup) Pack(to []byte, b *Binned, y *Labels) []byte {
	to = slices.Grow(to, int(s.ShardLen(b.learn)))
	to = append(to, b.codes.Bytes[:b.learn*b.codes.Stride]...)
	for _, v := range y.Label[:b.learn] {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
	}
	if s.weights {
		for _, v := range y.Weight[:b.learn] {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
		}
	}
	if s.groups {
		for _, v := range y.Group[:b.learn] {
			to = binary.LittleEndian.AppendUint64(to, uint64(v))
		}
	}
	if s.starts {
		for _, v := range y.Start {
			to = binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
		}
	}
	return to
}

// Unpack reads the rows lo to hi of what Pack wrote, and keeps the bytes. Codes that are none and labels that the objective does not
// take are refused.
func (s *Setup) Unpack(lo, hi int, from []byte) (*Binned, *Labels, error) {
	n, l := hi-lo, s.Layout
	switch {
	case lo < 0 || n < 0 || hi > l.rows:
		return nil, nil, fmt.Errorf("rows %d to %d, want some of %d", lo, hi, l.rows)
	case int64(len(from)) != s.ShardLen(n):
		return nil, nil, fmt.Errorf("%d bytes of %d rows, want %d", len(from), n, s.ShardLen(n))
	}
	b := &Binned{Layout: l, first: lo, learn: n, codes: l.shape}
	stride := l.shape.Stride
	rest := from[n*stride:]
	y := &Labels{Label: floats(n, &rest)}
	if s.weights {
		y.Weight = floats(n, &rest)
	}
	if s.groups {
		y.Group = make([]int64, n)
		for i := range y.Group {
			y.Group[i] = int64(binary.LittleEndian.Uint64(rest[8*i:]))
		}
		rest = rest[8*n:]
	}
	if s.starts {
		y.Start = make([]float64, n*len(s.Start))
		for i := range y.Start {
			y.Start[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest[8*i:]))
		}
	}
	b.codes.Bytes = slices.Grow(from[:n*stride], stride)[:(n+1)*stride] // one row more, as Code has it
	if err := b.checkCodes(); err != nil {
		return nil, nil, err
	}
	return b, y, s.check(y, n, lo)
}

// floats reads so many.
func floats(n int, from *[]byte) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32((*from)[4*i:]))
	}
	*from = (*from)[4*n:]
	return all
}

// checkCodes refuses codes that their groups have not: sums have no room for them.
func (b *Binned) checkCodes() error {
	for i := range b.groups {
		g, stride := &b.groups[i], b.codes.Stride
		most := 0
		switch codes := b.codes.Bytes[g.at:]; {
		case g.wide:
			for r := range b.learn {
				most = max(most, int(binary.LittleEndian.Uint16(codes[r*stride:])))
			}
		case g.codes < narrowCodes:
			for r := range b.learn {
				most = max(most, int(codes[r*stride]))
			}
		}
		if most >= g.codes {
			return fmt.Errorf("code %d in group %d, want one of %d", most, i, g.codes)
		}
	}
	return nil
}
