package data

import (
	"fmt"
	"maps"
	"slices"
)

// FieldRun is consecutive columns of fields of one kind: from the first on, up to the first of the next run.
type FieldRun struct {
	First int64
	Kind  int
}

// SharedColumn is the error that a column has values of two fields of different kinds.
type SharedColumn struct {
	Column int64
	Fields [2]int32
}

// Error implements error.
func (e *SharedColumn) Error() string {
	return fmt.Sprintf("column %d is of field %d and of field %d", e.Column, e.Fields[0], e.Fields[1])
}

// FieldRuns finds which columns are of fields of which kind, where kinds has a number for each field of the examples: runs of columns,
// ascending. Columns between two runs that no example has count as those of the larger number, so that other examples with the same columns
// lose nothing where the number is one of values; those before the first run and after the last one count as that. The error is a
// *SharedColumn if a column occurs in fields of two kinds.
func (s *Set) FieldRuns(kinds []int) ([]FieldRun, error) {
	if len(kinds) > 0 && slices.Min(kinds) == slices.Max(kinds) {
		return []FieldRun{{0, kinds[0]}}, nil
	}
	of := map[int64]int32{}
	for _, row := range s.all() {
		for v, col := range row.idx {
			field := row.field[v]
			switch last, seen := of[col]; {
			case !seen:
				of[col] = field
			case kinds[last] != kinds[field]:
				return nil, &SharedColumn{col, [2]int32{min(last, field), max(last, field)}}
			}
		}
	}
	var runs []FieldRun
	before := int64(-1)
	for _, col := range slices.Sorted(maps.Keys(of)) {
		kind, first := kinds[of[col]], col
		if n := len(runs); n == 0 || kind > runs[n-1].Kind {
			first = before + 1
		}
		if n := len(runs); n == 0 || kind != runs[n-1].Kind {
			runs = append(runs, FieldRun{first, kind})
		}
		before = col
	}
	return runs, nil
}
