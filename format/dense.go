package format

import (
	"maps"
	"slices"

	"thole/matrix"
)

// LoseToDense asks the options about everything that a plain dense tensor cannot say of the matrix: absent cells and
// rows, column ids, labels and types.
func LoseToDense(m *matrix.Meta, o *Options) error {
	losses := []struct {
		is   bool
		what string
	}{
		{m.Layout == matrix.RowSparse, "absent cells become zeros"},
		{m.Saved != nil, "absent rows become zeros"},
		{m.ColLo != 0, "columns are counted from 0"},
		{m.Labels != nil, "names of columns"},
		{mixed(m), "element types of single columns"},
	}
	for _, l := range losses {
		if !l.is {
			continue
		}
		if err := o.Lose("matrix %q: %s", m.Name, l.what); err != nil {
			return err
		}
	}
	return nil
}

// mixed tells whether some column has another type than the matrix.
func mixed(m *matrix.Meta) bool {
	for _, d := range m.ColTypes {
		if d != m.DType {
			return true
		}
	}
	return false
}

// DropFiles tells that the small files beside the matrices are left out, for formats that are one file.
func DropFiles(o *Options) {
	for _, name := range slices.Sorted(maps.Keys(o.Files)) {
		o.Drop("file %s", name)
	}
}
