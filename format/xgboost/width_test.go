package xgboost

import (
	"reflect"
	"runtime"
	"strconv"
	"testing"

	"thole.example/tree"
)

// TestWidth: models of very many columns, of which hardly any has a name or is asked for, take memory for those alone.
func TestWidth(t *testing.T) {
	e := &tree.Ensemble{Objective: tree.Objective{Name: "l2", Link: tree.Identity, Foreign: "reg:squarederror"}, Classes: 1, Group: 1,
		Start: []float64{0}, Features: tree.Features{Width: tree.FeatureLimit, Stem: stem}, Single: true, Origin: "XGBoost 2.1.0",
		Trees: []tree.Tree{{Feature: []int32{tree.FeatureLimit - 1}, Threshold: []float64{0}, Kind: []tree.Kind{tree.NaNMissing}, Left: []int32{^0},
			Right: []int32{^1}, Gain: []float64{1}, Value: []float64{0}, Weight: []float64{2}, Count: []int64{0}, LeafValue: []float64{1, 2},
			LeafWeight: []float64{1, 1}, LeafCount: []int64{0, 0}}}}
	for _, binary := range []bool{false, true} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := printed(e, binary)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := parse(file)
		if err != nil || !reflect.DeepEqual(again.Features, e.Features) {
			t.Errorf("%+v, %v, want %+v", again, err, e.Features)
			continue
		}
		if name := again.Features.At(77).Name; name != "f"+strconv.Itoa(77) {
			t.Errorf("feature 77 is called %q", name)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%d bytes were taken for a file of %d", n, len(file))
		}
	}
}
