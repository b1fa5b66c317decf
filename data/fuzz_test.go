package data

import (
	"context"
	"fmt"
	"testing"
)

// fuzzSource: whatever the bytes, a valid batch or an error, the same in one piece and in small ones.
func fuzzSource(f *testing.F, opt Options) {
	opt.Labels = AutoTrans
	for _, tt := range good {
		f.Add([]byte(tt.text))
	}
	for _, tt := range bad {
		f.Add([]byte(tt.text))
	}
	for _, tt := range withFields {
		f.Add([]byte(tt.text))
	}
	f.Add([]byte("\x00\xff\xfe\x80\n\n\r"))
	f.Fuzz(func(t *testing.T, text []byte) {
		opt.Labels = []Labels{AutoTrans, ClassTrans}[len(text)%2]
		got, err := Load(context.Background(), input(text), opt)
		again, errAgain := loadSteps(t, text, opt, 7, 1<<20)
		if fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("in one piece %v, in small ones %v", err, errAgain)
		}
		if err != nil {
			return
		}
		if err := check(got); err != nil {
			t.Fatal(err)
		}
		if !same(got, again) {
			t.Fatalf("in one piece %v, in small ones %v", got, again)
		}
	})
}

func FuzzLibsvm(f *testing.F) { fuzzSource(f, Options{}) }
func FuzzLibffm(f *testing.F) { fuzzSource(f, Options{Format: "libffm"}) }
func FuzzDummy(f *testing.F)  { fuzzSource(f, Options{Format: "dummy"}) }
func FuzzDense(f *testing.F)  { fuzzSource(f, Options{Format: "dense"}) }

func FuzzPositions(f *testing.F) { fuzzSource(f, Options{Format: "dummy", Fields: Fields{Number: 2}}) }
func FuzzRanges(f *testing.F)    { fuzzSource(f, Options{Fields: Fields{First: []int64{0, 2, 9}}}) }
