package data

import (
	"context"
	"fmt"
	"testing"
)

// fuzzSource: whatever the bytes, a valid batch or an error, the same in one piece and in small ones.
func fuzzSource(f *testing.F, format string) {
	for _, tt := range good {
		f.Add([]byte(tt.text))
	}
	for _, tt := range bad {
		f.Add([]byte(tt.text))
	}
	f.Add([]byte("\x00\xff\xfe\x80\n\n\r"))
	f.Fuzz(func(t *testing.T, text []byte) {
		opt := Options{Format: format, Labels: AutoTrans}
		got, err := Load(context.Background(), input(text), opt)
		again, errAgain := loadSteps(t, text, opt, 7, 1<<20)
		if fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("in one piece %v, in small ones %v", err, errAgain)
		}
		if err != nil {
			return
		}
		if err := got.X.Check(); err != nil {
			t.Fatal(err)
		}
		if !same(got, again) {
			t.Fatalf("in one piece %v, in small ones %v", got, again)
		}
	})
}

func FuzzLibsvm(f *testing.F) { fuzzSource(f, "libsvm") }
func FuzzDummy(f *testing.F)  { fuzzSource(f, "dummy") }
func FuzzDense(f *testing.F)  { fuzzSource(f, "dense") }
