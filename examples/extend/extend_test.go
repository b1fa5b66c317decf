package extend_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"example.org/extend"
	"thole.example/algo"
	"thole.example/blob"
	"thole.example/data"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/graph"
	"thole.example/layer"
	"thole.example/loss"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/train"
)

// network is the constant layer behind the absolute loss: what it learns is the median of the labels.
const network = `{
  "data": {"format": "libsvm", "indexrange": 1},
  "train": {"epoch": 200, "lr": 1},
  "model": {"modeltype": "T_FLOAT_DENSE"},
  "default_optimizer": "fading",
  "layers": [
    {"name": "input", "type": "constantlayer", "outputdim": 1},
    {"name": "loss", "type": "simplelosslayer", "lossfunc": "absoluteloss", "inputlayer": "input"}
  ]
}`

// Example trains with a layer, a loss and a rule of one's own, asks a function of one's own beside the data, and saves in a format
// of one's own.
func Example() {
	if err := median(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// median -3.0
	// 1 values below zero
	// vec: median.vec holds 1 x 1 f32, version 1
	// 00000000  56 45 43 31              magic
	// 00000004  01 00 00 00              1 rows
	// 00000008  01 00 00 00              1 columns
}

func median(ctx context.Context, out *os.File) error {
	store, codecs := &blob.Mem{}, append(all.Codecs(), extend.Vec)
	rules := append(optim.Rules(), extend.Fading)
	funcs, err := psf.NewTable(append(psf.Funcs(), extend.Negatives), rules)
	if err != nil {
		return err
	}
	net := &mem.Network{}
	l, err := net.Listen(ctx, "server", &server.Server{Funcs: funcs, Codecs: codecs, Bucket: store})
	if err != nil {
		return err
	}
	defer l.Close()
	client, err := ps.Dial(ctx, ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "median", Tasks: 1, Funcs: funcs})
	if err != nil {
		return err
	}
	defer client.Close()
	file, err := graph.ParseJSON([]byte(network))
	if err != nil {
		return err
	}
	model, err := algo.Compose(file, algo.Conf{
		Layers: append(layer.Kinds(), extend.Constant), Losses: append(loss.Losses(), extend.Absolute), Rules: rules,
	})
	if err != nil {
		return err
	}
	examples, err := data.Pack(labels(-9, -4, -3, 5, 100))
	if err != nil {
		return err
	}
	if _, err := train.Run(ctx, client, train.Options{Model: model, Data: examples, Tasks: 1, Epochs: 400, Batch: 5,
		Rate: func(int, int) float64 { return 1 }}); err != nil {
		return err
	}
	w, err := client.Matrix("input_bias")
	if err != nil {
		return err
	}
	row, err := w.GetRow(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "median %.1f\n", row.ToDense().Data.(*matrix.Dense[float32]).Val[0])
	n, err := w.Get(ctx, "negatives", nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s values below zero\n", n)
	if err := client.Save(ctx, ps.SaveOptions{Codec: "vec", Path: "median.vec", Matrices: []string{"input_bias"}}); err != nil {
		return err
	}
	return show(ctx, out, store, codecs)
}

func show(ctx context.Context, out *os.File, store blob.Bucket, codecs format.Set) error {
	c, dialect, err := codecs.Detect(ctx, store, "median.vec")
	if err != nil {
		return err
	}
	r, err := format.Open(ctx, c, store, "median.vec", format.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	m := r.Matrices()[0]
	fmt.Fprintf(out, "%s: median.vec holds %d x %d %v, %s\n", c.Info().Name, m.Rows, m.Cols, m.DType, dialect)
	head := &firstLines{out: out, left: 3}
	return c.Explain(ctx, store, "median.vec", dump.New(head))
}

// firstLines passes some lines on.
type firstLines struct {
	out  *os.File
	left int
}

func (f *firstLines) Write(p []byte) (int, error) {
	if f.left == 0 {
		return len(p), nil
	}
	f.left--
	return f.out.Write(p)
}

// labels are examples without features.
func labels(of ...float32) *data.Batch {
	x := matrix.Block{At: matrix.At(0, int64(len(of)), 0, 1), Data: &matrix.CSR[float32]{Ptr: make([]int, len(of)+1)}}
	return &data.Batch{Label: of, X: x}
}

// TestVecConverts converts to the format and back, and refuses what it cannot hold.
func TestVecConverts(t *testing.T) {
	ctx, b := t.Context(), &blob.Mem{}
	write := func(m matrix.Meta, o format.Options) error {
		w, err := format.Create(ctx, extend.Vec, b, m.Name+".vec", []matrix.Meta{m}, o)
		if err != nil {
			return err
		}
		defer w.Abort(ctx)
		part, err := w.Put(ctx, m.Name, matrix.NewDense(m.DType, m.Rect()))
		if err != nil {
			return err
		}
		return w.Commit(ctx, []format.Part{part})
	}
	if err := write(matrix.Meta{Name: "a", Rows: 2, Cols: 3, DType: matrix.F32}, format.Options{}); err != nil {
		t.Error(err)
	}
	vector := matrix.Meta{Name: "b", Rows: 1, Cols: 3, DType: matrix.F64, Dims: []int64{3}}
	if err := write(vector, format.Options{}); err == nil {
		t.Error("a vector of float64 was written without a word")
	}
	lost := 0
	if err := write(vector, format.Options{Lossy: true, Lost: func(string) { lost++ }}); err != nil || lost != 2 {
		t.Errorf("%v, %d losses, want 2", err, lost)
	}
}
