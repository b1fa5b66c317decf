package ps

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/matrix"
)

// gathering is how increments of a matrix wait until they are sent.
type gathering uint8

const (
	gatherAuto   gathering = iota // as they come; added up when there are several for one place, dense where that is smaller
	gatherDense                   // added up in a local matrix of the same size, whose rows are made when they are first touched
	gatherSparse                  // added up by key
)

// oplogType is a name of [Model.SetOplogType].
type oplogType struct {
	name  string
	dtype matrix.DType // of the matrices that it is for; Invalid: of any
	how   gathering
}

// oplogTypes are auto, the four of the PSModel document, and the other names of Angel 1.5; the first name of two for the same is
// the one to recommend. Angel's row types are names too.
var oplogTypes = []oplogType{
	{"auto", matrix.Invalid, gatherAuto},
	{"DENSE_DOUBLE", matrix.F64, gatherDense},
	{"DENSE_DOUBE", matrix.F64, gatherDense}, // as the document spells it
	{"DENSE_FLOAT", matrix.F32, gatherDense},
	{"DENSE_INT", matrix.I32, gatherDense},
	{"LIL_INT", matrix.I32, gatherSparse},
	{"SPARSE_DOUBLE", matrix.F64, gatherSparse},
	{"SPARSE_FLOAT", matrix.F32, gatherSparse},
	{"SPARSE_INT", matrix.I32, gatherSparse},
	{"SPARSE_DOUBLE_LONGKEY", matrix.F64, gatherSparse},
	{"COMPONENT_SPARSE_DOUBLE_LONGKEY", matrix.F64, gatherSparse},
	{"COMPONENT_SPARSE_DOUBLE", matrix.F64, gatherSparse},
	{"COMPONENT_SPARSE_FLOAT", matrix.F32, gatherSparse},
	{"COMPONENT_SPARSE_INT", matrix.I32, gatherSparse},
}

// allOplogTypes are those and Angel's row types.
func allOplogTypes() []oplogType {
	all := slices.Clone(oplogTypes)
	for _, t := range matrix.RowTypes() {
		switch {
		case t.Object():
		case t == matrix.IntArbitrary:
			all = append(all, oplogType{t.String(), t.DType(), gatherAuto})
		case t.Layout() == matrix.RowSparse:
			all = append(all, oplogType{t.String(), t.DType(), gatherSparse})
		default:
			all = append(all, oplogType{t.String(), t.DType(), gatherDense})
		}
	}
	return all
}

// denseRowLimit is how many bytes a row of a dense oplog may take.
const denseRowLimit = 1 << 31

// gatheringOf is how the named type, "" for auto, has increments of the matrix wait.
func gatheringOf(name string, m *matrix.Meta) (gathering, error) {
	if name == "" {
		return gatherAuto, nil
	}
	all := allOplogTypes()
	i := slices.IndexFunc(all, func(t oplogType) bool { return strings.EqualFold(t.name, name) })
	if i < 0 {
		return 0, fmt.Errorf("ps: matrix %s: oplog type %q, want %s", m.Name, name, strings.Join(suitable(m, gatherAuto), ", "))
	}
	t := all[i]
	if t.dtype != matrix.Invalid && t.dtype != m.DType {
		return 0, fmt.Errorf("ps: matrix %s: oplog type %s is for values of %v and these are %v, want %s",
			m.Name, t.name, t.dtype, m.DType, strings.Join(suitable(m, t.how), ", "))
	}
	if t.how == gatherDense && !fitsDense(m) {
		return 0, fmt.Errorf("ps: matrix %s: oplog type %s takes %d x %d bytes for each row that is touched, want at most %d, or %s",
			m.Name, t.name, m.Cols, m.DType.Size(), int64(denseRowLimit), strings.Join(suitable(m, gatherSparse), ", "))
	}
	return t.how, nil
}

// suitable are names of types that fit the matrix, of those that hold increments as it was wanted; of all with gatherAuto.
func suitable(m *matrix.Meta, how gathering) []string {
	var names []string
	for _, t := range oplogTypes {
		if t.dtype == m.DType && (t.how == how || how == gatherAuto) && t.name != "DENSE_DOUBE" {
			names = append(names, t.name)
		}
	}
	return append(names, "auto")
}

// fitsDense reports whether a row is small enough to be held whole.
func fitsDense(m *matrix.Meta) bool {
	n, ok := matrix.Cells(m.Cols, int64(m.DType.Size()))
	return ok && n <= denseRowLimit
}
