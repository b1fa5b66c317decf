package train

import (
	"testing"

	"thole.example/algo"
	"thole.example/matrix"
)

// TestStorageQuality: weights that servers keep in fewer bytes are nearly as good as those of f32, also with steps far smaller than
// what the types can tell apart.
func TestStorageQuality(t *testing.T) {
	b, held := examples(4000, 1), examples(2000, 2)
	loss := func(storage matrix.DType, sparse bool) (train, valid float64) {
		w := world{servers: 2, tasks: 2, conf: algo.Conf{Rule: "sgd", Sparse: sparse, Storage: storage}}
		reports, _ := w.trained(t, Options{Data: set(b), Valid: set(held), Epochs: 4, Batch: 20, Rate: rate(0.03), Seed: 1})
		return reports[0].Train[0].Value, reports[0].Valid[0].Value
	}
	train, valid := loss(matrix.Invalid, true)
	for _, tt := range []struct {
		storage matrix.DType
		sparse  bool
		most    float64 // times the loss of f32
	}{{matrix.F16, true, 1.001}, {matrix.F16, false, 1.001}, {matrix.BF16, true, 1.01}, {matrix.BF16, false, 1.01}, {matrix.I8, true, 1.02}} {
		got, onHeld := loss(tt.storage, tt.sparse)
		t.Logf("%v: loss %.5f, held-out %.5f; of f32 %.5f, %.5f", tt.storage, got, onHeld, train, valid)
		if got > tt.most*train || onHeld > tt.most*valid {
			t.Errorf("%v: loss %v, held-out %v, want at most %v times %v, %v", tt.storage, got, onHeld, tt.most, train, valid)
		}
	}
}
