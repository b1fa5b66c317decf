package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func input(text []byte) Input {
	return Input{Name: "t", R: bytes.NewReader(text), Size: int64(len(text))}
}

// loadSteps is Load with pieces of the given size and a limit on lines.
func loadSteps(t testing.TB, text []byte, opt Options, step, limit int) (*Batch, error) {
	t.Helper()
	l := loader{reader: reader{step: step, limit: limit}, opt: opt, set: newSet()}
	all, err := l.load(context.Background(), []Input{input(text)})
	if err != nil {
		return nil, err
	}
	return all.Batch(), nil
}

// same reports whether two batches hold the same examples.
func same(a, b *Batch) bool {
	x, y := a.Rows(), b.Rows()
	return equal(a.Label, b.Label) && equal(x.Ptr, y.Ptr) && equal(x.Idx, y.Idx) && equal(x.Val, y.Val) &&
		equal(a.Field, b.Field) && a.Fields == b.Fields
}

// check reports what a batch must not be: that of X, or with fields, rows that are not ordered by field and then by column.
func check(b *Batch) error {
	x := b.Rows()
	switch {
	case b.Len() != len(x.Ptr)-1:
		return fmt.Errorf("%d labels of %d rows", b.Len(), len(x.Ptr)-1)
	case b.Fields == 0 && b.Field != nil, b.Fields > 0 && len(b.Field) != len(x.Idx):
		return fmt.Errorf("fields of %d values, want %d of %d fields", len(b.Field), len(x.Idx), b.Fields)
	case b.Fields == 0:
		return b.X.Check()
	}
	for i := range b.Len() {
		for p := x.Ptr[i]; p < x.Ptr[i+1]; p++ {
			f, col := b.Field[p], x.Idx[p]
			if f < 0 || int(f) >= b.Fields || !b.X.At.Cols.Has(col) {
				return fmt.Errorf("row %d: column %d of field %d, want below %d and %d", i, col, f, b.Dim(), b.Fields)
			}
			if p > x.Ptr[i] && (f < b.Field[p-1] || f == b.Field[p-1] && col <= x.Idx[p-1]) {
				return fmt.Errorf("row %d: column %d of field %d after %d of %d", i, col, f, x.Idx[p-1], b.Field[p-1])
			}
		}
	}
	return nil
}

func equal[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// row is an example for tables of tests.
type row struct {
	label float32
	idx   []int64
	val   []float32
}

func batchOf(want []row) *Batch {
	all := newRows(0, 0, false)
	for _, r := range want {
		all.label = append(all.label, r.label)
		all.idx = append(all.idx, r.idx...)
		all.val = append(all.val, r.val...)
		all.ptr = append(all.ptr, len(all.idx))
	}
	return all.batch(0, all.dim(), 0)
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	var at *Error
	if err == nil || err.Error() != text || !errors.As(err, &at) {
		t.Errorf("error %v\nwant  %s", err, text)
	}
}
