package all

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestRoundTrip writes and reads every sample of every type in every format: the same cells, or ErrLossy.
func TestRoundTrip(t *testing.T) {
	eachAny(t, func(t *testing.T, c kind) {
		kept := 0
		for _, d := range matrix.DTypes() {
			for _, s := range samples(d) {
				t.Run(d.String()+", "+s.what, func(t *testing.T) {
					b := empty(t)
					err := write(t, b, c, s, format.Options{})
					if errors.Is(err, format.ErrLossy) || errors.Is(err, format.ErrLimit) {
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					kept++
					readBack(t, b, c, s)
				})
			}
		}
		if kept == 0 {
			t.Error("every sample would lose something")
		}
	})
}

// readBack detects, opens and compares what write stored.
func readBack(t *testing.T, b blob.Bucket, c kind, s sample) {
	t.Helper()
	ctx := context.Background()
	r, found, err := Codecs().Open(ctx, b, pathOf(c), "", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if found.Info().Name != c.Info().Name {
		t.Fatalf("detected as %s", found.Info().Name)
	}
	for _, other := range Codecs() {
		if dialect, err := other.Sniff(ctx, b, pathOf(c)); err == nil && dialect != "" && other.Info().Name != c.Info().Name {
			t.Errorf("%s claims it too, as %s", other.Info().Name, dialect)
		}
	}
	m, err := format.Find(r, "m")
	if err != nil {
		t.Fatal(err)
	}
	if m.Rows != s.meta.Rows || m.Cols != s.meta.Cols || m.DType != s.meta.DType || m.Layout != s.meta.Layout {
		t.Errorf("read %d x %d %v %v, want %d x %d %v %v", m.Rows, m.Cols, m.DType, m.Layout,
			s.meta.Rows, s.meta.Cols, s.meta.DType, s.meta.Layout)
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	for _, pair := range [][2]format.Reader{{r, memory{s}}, {memory{s}, r}} {
		if diff, err := format.Diff(ctx, pair[0], pair[1]); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
	}
	if s.meta.Rows*s.meta.Cols > 1000 {
		return
	}
	got, err := cells(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cells(ctx, memory{s})
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d cells, want %d: %s", len(got), len(want), firstDifference(got, want))
	}
}

func firstDifference(got, want map[cell]string) string {
	for k, v := range want {
		if got[k] != v {
			return fmt.Sprintf("%v is %q, want %q", k, got[k], v)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("%v is too much", k)
		}
	}
	return ""
}

// TestLossyWrites checks that what a format refuses as lossy it writes when that is allowed, saying what was lost.
func TestLossyWrites(t *testing.T) {
	for _, c := range anyKinds(plainKinds()) { // options lose nothing else
		for _, d := range matrix.DTypes() {
			for _, s := range samples(d) {
				if !errors.Is(write(t, &blob.Mem{}, c, s, format.Options{}), format.ErrLossy) {
					continue
				}
				t.Run(c.name+"/"+d.String()+", "+s.what, func(t *testing.T) {
					b := empty(t)
					lost := 0
					o := format.Options{Lossy: true, Lost: func(string) { lost++ }}
					if err := write(t, b, c, s, o); errors.Is(err, format.ErrLimit) {
						return // nobody fills in 2^63 cells
					} else if err != nil {
						t.Fatal(err)
					}
					if lost == 0 {
						t.Error("nothing was said to be lost")
					}
					r, _, err := Codecs().Open(context.Background(), b, pathOf(c), "", format.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer r.Close()
					if _, err := cells(context.Background(), r); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestOptions checks that options that a codec does not have are refused on both ways.
func TestOptions(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		ctx, b := context.Background(), empty(t)
		if err := write(t, b, c, s, format.Options{}); err != nil {
			t.Fatal(err)
		}
		odd := format.Options{Set: map[string]string{"no such option": "1"}}
		if r, _, err := Codecs().Open(ctx, b, pathOf(c), "", odd); !errors.Is(err, format.ErrOption) {
			t.Errorf("open: %v, %v, want ErrOption", r, err)
		}
		if err := format.Convert(ctx, memory{s}, c, b, "other", odd, nil, nil); !errors.Is(err, format.ErrOption) {
			t.Errorf("convert: %v, want ErrOption", err)
		}
	})
}
