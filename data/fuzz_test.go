package data

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"thole.example/feature"
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

// FuzzRecords: whatever the bytes, records are parts of the text in order or there is an error, and what Load reads is as many records.
func FuzzRecords(f *testing.F) {
	for _, tt := range good {
		f.Add([]byte(tt.text), false)
	}
	for _, tt := range bad {
		f.Add([]byte(tt.text), false)
	}
	for _, text := range []string{
		"y,a\n1,2\n\n0,\"x\n\"\"\"", "\xef\xbb\xbfy;a\r\n1;2\r\n0;3", "y\n\"\"\n1\n", "y\ta\n1\n", "a,a\n", "b\n1\n", "\x1f\x8b\x08\x00"} {
		f.Add([]byte(text), true)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, table bool) {
		r := RecordReader{}
		path := filepath.Join(dir, "t.libsvm")
		if table {
			r.Column, path = "y", filepath.Join(dir, "t.csv")
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		n, last, rest := 0, int64(0), append(bytes.Clone(text), '\n')
		packed := bytes.HasPrefix(text, []byte("\x1f\x8b")) || bytes.HasPrefix(text, []byte("\x28\xb5\x2f\xfd"))
		for one, err := range r.Read(context.Background(), []string{path}) {
			if err != nil {
				n = -1
				break
			}
			at := bytes.Index(rest, one.Text)
			if !packed && at < 0 || one.Line <= last || (one.Cell != nil) != table {
				t.Fatalf("record %d is %q of line %d with cell %q, behind line %d", n, one.Text, one.Line, one.Cell, last)
			}
			if !packed {
				rest = rest[at+len(one.Text)-1:] // with the line end that the last line may lack
			}
			n, last = n+1, one.Line
		}
		opt := Options{Format: "libsvm"}
		if table {
			opt = Options{Format: "csv", Table: &Table{Spec: feature.Spec{}}}
			_ = opt.Table.Spec.Set("y", feature.Column{Kind: feature.Label}) // which is the only one
		}
		all, err := LoadFiles(context.Background(), []string{path}, nil, opt)
		if err == nil && all.Len() != n {
			t.Fatalf("%d records, and Load has %d examples", n, all.Len())
		}
	})
}
