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
// ascending. A column that no example has counts as the one before it, and those before the first one as that. The error is a
// *SharedColumn if a column occurs in fields of two kinds.
func (s *Set) FieldRuns(kinds []int) ([]FieldRun, error) {
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
	for _, col := range slices.Sorted(maps.Keys(of)) {
		if kind := kinds[of[col]]; len(runs) == 0 || runs[len(runs)-1].Kind != kind {
			runs = append(runs, FieldRun{col, kind})
		}
	}
	if len(runs) > 0 {
		runs[0].First = 0
	}
	return runs, nil
}
