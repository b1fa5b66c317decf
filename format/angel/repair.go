package angel

import (
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// allZero reports whether no partition says which columns it has: hash partitions, or range partitions of 3.2.0.
func allZero(parts []partMeta) bool {
	for i := range parts {
		if parts[i].cols != (matrix.Range{}) {
			return false
		}
	}
	return true
}

// repair gives range partitions that 3.2.0 saved without their columns the columns that its partitioner gave them. Row
// formats of that version store ids relative to the partition; they are shifted when they are read.
func repair(m *matrixMeta, l *layout, cols matrix.Range, known bool) (notes []string) {
	if len(m.parts) == 0 || !allZero(m.parts) || !known || m.blockCol <= 0 || cols.Len() == 0 {
		return nil
	}
	across := (cols.Len()-1)/m.blockCol + 1
	for i := range m.parts {
		p := &m.parts[i]
		k := int64(p.id) % across
		p.cols.Lo = cols.Lo + k*m.blockCol
		p.cols.Hi = cols.Hi
		if cols.Hi-p.cols.Lo > m.blockCol {
			p.cols.Hi = p.cols.Lo + m.blockCol
		}
		if l.colID && !l.column && !l.framed {
			p.shift = p.cols.Lo
		}
	}
	return []string{format.Warning(fmt.Sprintf("saved by 3.2.0 without the columns of its %d partitions, repaired", len(m.parts)))}
}
