package rpctest

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// request is what was asked, without where it lies.
func request(q *rpc.Request) *rpc.Request {
	c := *q
	c.Memory = nil
	return &c
}

func testEcho(t *testing.T, setup Setup) {
	got, from := make(chan *rpc.Request, 1), ""
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		x.Memory.Retain() // the test looks at it after the answer
		from = x.From.Name
		got <- x.Request
		x.Answer(Answer())
	})
	defer stop()
	r := call(t, c, Sample())
	defer r.Release()
	q := <-got
	if want := Sample(); !reflect.DeepEqual(request(q), want) {
		t.Errorf("the handler got\n%+v, want\n%+v", q, want)
	}
	q.Memory.Release()
	if want := Answer(); r.Clock != want.Clock || !reflect.DeepEqual(r.Parts, want.Parts) ||
		!reflect.DeepEqual(r.Results, want.Results) {
		t.Errorf("the caller got\n%+v, want\n%+v", r, want)
	}
	if from == "" {
		t.Error("the peer has no name")
	}
}

// numbered is a dense part with values of its own in a buffer.
func numbered(n int, first float64) (rpc.Part, *rpc.Buffer) {
	memory := rpc.NewBuffer(8*n, budget.Charge{})
	val, _ := wire.Numbers[float64](memory.Bytes())
	for i := range val {
		val[i] = first + float64(i)
	}
	return rpc.Part{Kind: rpc.KindDense, DType: matrix.F64, Matrix: 1, Rows: matrix.Range{Hi: 1},
		Cols: matrix.Range{Hi: int64(n)}, Groups: []rpc.Group{{}}, Values: memory.Bytes()}, memory
}

func testBig(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, Echo)
	defer stop()
	const n = 3<<20 + 1
	big, memory := numbered(n, 5)
	keys := make([]int64, 50_000)
	for i := range keys {
		keys[i] = int64(i) * 3
	}
	wide := rpc.Part{Kind: rpc.KindKeys, DType: matrix.U8, Keys: keys, Groups: []rpc.Group{{Keys: 50_000}},
		Values: make([]byte, 50_001)}
	r := call(t, c, &rpc.Request{Arg: make([]byte, 130_001), Parts: []rpc.Part{big, wide}, Memory: memory})
	defer r.Release()
	val, ok := wire.Numbers[float64](r.Parts[0].Values)
	if !ok || len(val) != n || val[0] != 5 || val[n-1] != n+4 || !slices.IsSorted(val) {
		t.Errorf("the %d values that came back are not those that were sent", len(val))
	}
	if !slices.Equal(r.Parts[1].Keys, keys) || len(r.Parts[1].Values) != 50_001 {
		t.Error("the keys that came back are not those that were sent")
	}
	memory.Release()
}

func testMany(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, 8, Echo)
	defer stop()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 50 {
				want := float64(g*1000 + i)
				p, memory := numbered(i*i, want)
				r, err := c.Start(t.Context(), &rpc.Request{Clock: int32(want), Parts: []rpc.Part{p}, Memory: memory}).Wait(t.Context())
				if err != nil {
					t.Errorf("call %v: %v", want, err)
					return
				}
				val, _ := wire.Numbers[float64](r.Parts[0].Values)
				if r.Clock != int32(want) || len(val) != i*i || i > 0 && (val[0] != want || val[i*i-1] != want+float64(i*i-1)) {
					t.Errorf("call %v: answer %d of %d values", want, r.Clock, len(val))
				}
				r.Release()
				memory.Release()
			}
		})
	}
	wg.Wait()
}

func testNothing(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) { x.Answer(nil) })
	defer stop()
	r := call(t, c, &rpc.Request{})
	defer r.Release()
	if r.Clock != 0 || len(r.Parts) != 0 || len(r.Results) != 0 {
		t.Errorf("answer %+v, want an empty one", r)
	}
}
