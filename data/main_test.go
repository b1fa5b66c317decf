package data

import (
	"bytes"
	"context"
	"errors"
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
	l := loader{reader: reader{step: step, limit: limit}, opt: opt, rows: newRows(0, 0)}
	all, err := l.load(context.Background(), []Input{input(text)})
	if err != nil {
		return nil, err
	}
	return all.Batch, nil
}

// same reports whether two batches hold the same examples.
func same(a, b *Batch) bool {
	x, y := a.Rows(), b.Rows()
	return equal(a.Label, b.Label) && equal(x.Ptr, y.Ptr) && equal(x.Idx, y.Idx) && equal(x.Val, y.Val)
}

func equal[T any](a, b []T) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// row is an example for tables of tests.
type row struct {
	label float32
	idx   []int64
	val   []float32
}

func batchOf(want []row) *Batch {
	all := newRows(0, 0)
	for _, r := range want {
		all.label = append(all.label, r.label)
		all.idx = append(all.idx, r.idx...)
		all.val = append(all.val, r.val...)
		all.ptr = append(all.ptr, len(all.idx))
	}
	return all.batch(0, all.dim())
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	var at *Error
	if err == nil || err.Error() != text || !errors.As(err, &at) {
		t.Errorf("error %v\nwant  %s", err, text)
	}
}
