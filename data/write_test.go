package data

import (
	"context"
	"errors"
	"io"
	"testing"
)

// What is written reads back as it was, in every source that can be written; the fields too where the text or the reader knows them.
func TestWrite(t *testing.T) {
	m := model(t, someClicks)
	clicks := m.Batch(50, 3000)
	values := deepOne[0]().Batch(7, 700)
	for _, tt := range []struct {
		source string
		batch  *Batch
		fields Fields
	}{
		{"dummy", clicks, Fields{Number: 4}}, {"libsvm", clicks, Fields{Number: 4}}, {"libffm", clicks, Fields{}},
		{"dummy", clicks, Fields{First: []int64{0, 10, 1010, 1013}}},
		{"dummy", deepOne[1]().Batch(7, 700), Fields{Number: 39}}, {"libsvm", values, deepOne[0]().ranges()}, {"libffm", values, Fields{}},
	} {
		text := written(t, tt.source, tt.batch)
		got, err := Load(context.Background(), input([]byte(text)),
			Options{Format: tt.source, Dim: tt.batch.Dim(), Labels: AutoTrans, Fields: tt.fields})
		if err != nil || !same(got, tt.batch) || check(got) != nil {
			t.Errorf("%s: %v, or rows differ", tt.source, err)
		}
		if err := Write(brokenWriter{}, tt.source, tt.batch); err != io.ErrClosedPipe {
			t.Errorf("%s: error %v of a broken writer", tt.source, err)
		}
	}
}

// ranges are the fields by their first columns.
func (m *DeepClickModel) ranges() (f Fields) {
	for i := range int64(deepNumbers) {
		f.First = append(f.First, i)
	}
	for _, field := range m.fields {
		f.First = append(f.First, field.first)
	}
	return f
}

func TestWriteRefuses(t *testing.T) {
	for source, want := range map[string]error{"dense": ErrOption, "libffm": ErrOption, "dummy": ErrOption, "csv": ErrOption, "xlsx": ErrUnknown} {
		if err := Write(io.Discard, source, batchOf(three)); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", source, err, want)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func BenchmarkWriteLibffm(b *testing.B) {
	batch := deepOne[0]().Batch(0, 4096)
	b.SetBytes(int64(len(written(b, "libffm", batch))))
	for b.Loop() {
		if err := Write(io.Discard, "libffm", batch); err != nil {
			b.Fatal(err)
		}
	}
}
