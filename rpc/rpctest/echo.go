package rpctest

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"thole.example/matrix"
	"thole.example/rpc"
)

// Sample is a request with something in every field; each call gives new slices of the same values.
func Sample() *rpc.Request {
	dense := matrix.Block{At: matrix.At(2, 4, 10, 13), Data: &matrix.Dense[float64]{Val: []float64{1, 2, 3, 4, 5, -6.5}}}
	keys := matrix.Block{At: matrix.At(0, 2, math.MinInt64, math.MaxInt64),
		Data: &matrix.Cols[float32]{Idx: []int64{math.MinInt64, -1, 7}, Val: []float32{1, 2, 3, 4, 5, 6}}}
	return &rpc.Request{
		Op: rpc.OpPush, Job: "job", Version: -1 << 62, Task: 7, Clock: -3, Tick: true, Seq: 1<<63 + 5, Weight: 0.5, Rate: 1e-300,
		Pieces: []rpc.Piece{
			{Matrix: "weights", At: matrix.At(0, 4, 0, 100), Cols: []int64{-5, 0, 99}, Blocks: []matrix.Block{dense, keys}},
			{Matrix: "wörds", At: matrix.At(1, 2, math.MinInt64, math.MaxInt64), Cols: []int64{}},
			{},
		},
		Func: "sum", Arg: []byte("{}"),
	}
}

// Blocks holds a block of every kind and element type; each call gives new slices.
func Blocks() []matrix.Block {
	var all []matrix.Block
	for _, d := range matrix.DTypes() {
		dense := matrix.Block{At: matrix.At(5, 8, -2, 1),
			Data: &matrix.Dense[float64]{Val: []float64{1, 0, 1, 0, 1, 1, 0, 0, 1}}}
		csr := matrix.Block{At: matrix.At(5, 8, -2, 1),
			Data: &matrix.CSR[float64]{Ptr: []int{0, 1, 1, 3}, Idx: []int64{0, -2, -1}, Val: []float64{1, 1, 0}}}
		coo := matrix.Block{At: matrix.At(5, 8, -2, 1),
			Data: &matrix.COO[float64]{Row: []int64{2, 0, 2}, Col: []int64{0, -2, -1}, Val: []float64{1, 1, 0}}}
		cols := matrix.Block{At: matrix.At(5, 8, -2, 1<<40),
			Data: &matrix.Cols[float64]{Idx: []int64{-2, 1 << 39}, Val: []float64{1, 1, 0, 0, 1, 1}}}
		empty := matrix.Block{At: matrix.At(5, 8, -2, 1), Data: matrix.Empty{D: matrix.F64}}
		for _, b := range []matrix.Block{dense, csr, coo, cols, empty} {
			b, _ = b.Cast(d)
			all = append(all, b)
		}
	}
	return all
}

func testEcho(t *testing.T, setup Setup) {
	var got *rpc.Request
	var from string
	c, _, stop := start(t, setup, plenty, func(_ context.Context, p *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
		got, from = q, p.Name
		return &rpc.Response{Clock: 9, Pieces: Sample().Pieces, Results: []rpc.Result{
			{Matrix: "weights", Part: 3, Data: []byte{1, 2, 3}}, {Matrix: "", Part: -1}}}, nil
	})
	defer stop()
	r := call(t, c, Sample())
	if want := Sample(); !reflect.DeepEqual(got, want) {
		t.Errorf("the handler got\n%+v, want\n%+v", got, want)
	}
	want := &rpc.Response{Clock: 9, Pieces: Sample().Pieces, Results: []rpc.Result{
		{Matrix: "weights", Part: 3, Data: []byte{1, 2, 3}}, {Matrix: "", Part: -1}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("the caller got\n%+v, want\n%+v", r, want)
	}
	if from == "" {
		t.Error("the peer has no name")
	}
}

func testBlocks(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, Echo)
	defer stop()
	r := call(t, c, &rpc.Request{Pieces: []rpc.Piece{{Matrix: "all", Blocks: Blocks()}}})
	for i, want := range Blocks() {
		if got := r.Pieces[0].Blocks[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("block %d of %v:\ngot  %+v\nwant %+v", i, want.Data.DType(), got.Data, want.Data)
		}
	}
}

func testBig(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, Echo)
	defer stop()
	const cols = 3<<20 + 1
	fill := func() []float64 {
		val := make([]float64, cols)
		for i := range val {
			val[i] = float64(i)
		}
		return val
	}
	blocks := func() []matrix.Block {
		idx := make([]int64, 10_000)
		for i := range idx {
			idx[i] = int64(i) * 3
		}
		return []matrix.Block{
			{At: matrix.At(0, 1, 0, cols), Data: &matrix.Dense[float64]{Val: fill()}},
			{At: matrix.At(0, 2, 0, 30_000), Data: &matrix.Cols[float64]{Idx: idx, Val: fill()[:20_000]}},
			{At: matrix.At(0, 2, 0, 30_000),
				Data: &matrix.CSR[float64]{Ptr: []int{0, 10_000, 10_000}, Idx: idx, Val: fill()[:10_000]}},
		}
	}
	arg := strings.Repeat("long argument", 10_000)
	r := call(t, c, &rpc.Request{Arg: []byte(arg), Pieces: []rpc.Piece{
		{Matrix: "big", Blocks: blocks()[:1]}, {Blocks: blocks()[1:], Cols: make([]int64, 50_000)}}})
	if got, ok := r.Pieces[0].Blocks[0].Data.(*matrix.Dense[float64]); !ok || !slices.Equal(got.Val, fill()) {
		t.Error("the dense values that came back are not those that were sent")
	}
	if !reflect.DeepEqual(r.Pieces[1], rpc.Piece{Blocks: blocks()[1:], Cols: make([]int64, 50_000)}) {
		t.Error("what came back is not what was sent")
	}
}

func testMany(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, 8, Echo)
	defer stop()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 50 {
				want := int32(g*1000 + i)
				q := &rpc.Request{Clock: want, Pieces: []rpc.Piece{{Blocks: []matrix.Block{{At: matrix.At(0, 1, 0, int64(i)),
					Data: &matrix.Dense[int32]{Val: make([]int32, i)}}}}}}
				r, err := c.Start(t.Context(), q).Wait(t.Context())
				if err != nil || r.Clock != want || r.Pieces[0].Blocks[0].Data.NNZ() != i {
					t.Errorf("call %d: answer %+v, error %v", want, r, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func testOvertake(t *testing.T, setup Setup) {
	second := make(chan struct{})
	c, _, stop := start(t, setup, plenty, func(ctx context.Context, p *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
		if q.Clock == 1 {
			<-second
		}
		return Echo(ctx, p, q)
	})
	defer stop()
	first := c.Start(t.Context(), &rpc.Request{Clock: 1})
	if r := call(t, c, &rpc.Request{Clock: 2}); r.Clock != 2 {
		t.Errorf("answer of call %d, want 2", r.Clock)
	}
	close(second)
	if r, err := first.Wait(t.Context()); err != nil || r.Clock != 1 {
		t.Errorf("answer %+v, error %v, want that of call 1", r, err)
	}
}

func testNothing(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, func(context.Context, *rpc.Peer, *rpc.Request) (*rpc.Response, error) {
		return nil, nil
	})
	defer stop()
	if r := call(t, c, &rpc.Request{}); !reflect.DeepEqual(r, &rpc.Response{}) {
		t.Errorf("answer %+v, want an empty one", r)
	}
}
