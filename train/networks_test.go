package train

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/rpc/tcp"
)

// fielded is n examples of four fields with eight columns each, some of which are missing or come twice; the label is the side of a
// product of the first two fields.
func fielded(n int, seed uint64) *data.Batch {
	const fields, levels = 4, 8
	rng := rand.New(rand.NewPCG(seed, 3))
	x := &matrix.CSR[float32]{Ptr: []int{0}}
	b := &data.Batch{Fields: fields}
	for range n {
		y := float32(1)
		for f := range fields {
			count := 1
			if f > 1 {
				count = rng.IntN(3)
			}
			for level := rng.IntN(levels); count > 0 && level < levels; level, count = level+1, count-1 {
				if f < 2 && level%2 == 0 {
					y = -y
				}
				x.Idx, x.Val, b.Field = append(x.Idx, int64(f*levels+level)), append(x.Val, 1), append(b.Field, int32(f))
			}
		}
		x.Ptr, b.Label = append(x.Ptr, len(x.Idx)), append(b.Label, y)
	}
	b.X = matrix.Block{At: matrix.At(0, int64(n), 0, fields*levels), Data: x}
	return b
}

// normed is a network with batch normalisation and dropout, whose fields are averaged.
const normed = `{"data":{"numfield":4},"default_optimizer":{"type":"adagrad","lr":0.1},"layers":[
	{"name":"emb","type":"embedding","outputdim":12,"numfactors":3,"pooling":"mean"},
	{"name":"norm","type":"batchnormlayer","inputlayer":"emb"},
	{"name":"drop","type":"dropoutlayer","inputlayer":"norm","proba":0.1},
	{"name":"fc","type":"fclayer","inputlayer":"drop","outputdims":[8,1],"transfuncs":["reluwithdropout","identity"]},
	{"name":"out","type":"simplelosslayer","inputlayer":"fc","lossfunc":"logloss"}]}`

// TestNetworkBits wants every network to learn, and to the same bits on any servers and network, whether servers keep all columns or
// those that occur.
func TestNetworkBits(t *testing.T) {
	own, err := graph.ParseJSON([]byte(normed))
	if err != nil {
		t.Fatal(err)
	}
	worlds := []world{{file: own}}
	for _, a := range algo.Algos() {
		if a.Network() {
			size := algo.Size{Fields: 4, Factors: 3}
			if a.Sizes.Hidden != nil {
				size.Hidden, size.Dropout = []int{8}, 0.1
			}
			worlds = append(worlds, world{algo: a.Name, conf: algo.Conf{Size: size}})
		}
	}
	counts := []int{1, 2, 3, -2}
	if testing.Short() {
		counts = counts[2:]
	}
	for _, w := range worlds {
		for _, sparse := range []bool{false, true} {
			var first *Report
			var bits []float32
			for _, servers := range counts { // below 0: by TCP
				w.conf.Dim, w.conf.Sparse, w.tasks = 32, sparse, 2
				if w.servers, w.net = servers, nil; servers < 0 {
					w.servers, w.net = -servers, &tcp.Network{}
				}
				o := Options{Data: set(fielded(600, 1)), Valid: set(fielded(300, 2)), Epochs: 16, Batch: 32, Rate: rate(0.1), Seed: 7, Clip: 10}
				reports, weights := w.trained(t, o)
				if first == nil {
					first, bits = reports[0], weights
				}
				for task, r := range reports {
					if !reflect.DeepEqual(r, first) {
						t.Errorf("%s on %d servers, task %d reports %+v, want %+v", w.algo, servers, task, r, first)
					}
				}
				if !slices.Equal(weights, bits) {
					t.Errorf("%s on %d servers: other weights", w.algo, servers)
				}
			}
			t.Logf("%s, sparse %v: %v", w.algo, sparse, first.Valid)
			if auc := first.Valid.Get("auc"); !(auc > 0.85) {
				t.Errorf("%s, sparse %v: auc %v, want above 0.85: a linear model has 0.5", w.algo, sparse, auc)
			}
		}
	}
}
