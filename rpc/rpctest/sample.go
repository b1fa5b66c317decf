package rpctest

import (
	"math"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// Sample is a request with something in every field but Memory; each call gives new slices of the same values.
func Sample() *rpc.Request {
	return &rpc.Request{
		Op: rpc.OpPush, Clock: -3, Seq: 1<<63 + 5,
		Ticks: []rpc.Tick{{Matrix: 3, Clock: 7, Weight: 0.5, Rate: 1e-300}, {Clock: math.MinInt32}},
		Parts: Parts(), Func: "sum", Arg: []byte(`{"a":1}`),
	}
}

// Answer is a response with something in every field but Memory; each call gives new slices of the same values.
func Answer() *rpc.Response {
	return &rpc.Response{Clock: -9, Parts: Parts(), Results: []rpc.Result{
		{Matrix: 3, Partition: 1 << 31, Data: []byte{1, 2, 3}}, {Matrix: math.MaxUint32}, {Data: []byte("12345678")}}}
}

// Parts holds a part of every kind, with and without values; each call gives new slices of the same values.
func Parts() []rpc.Part {
	return []rpc.Part{
		{Kind: rpc.KindDense, DType: matrix.F64, Matrix: 1, Version: 2, Clock: -1, Rows: matrix.Range{Lo: 2, Hi: 4},
			Cols: matrix.Range{Lo: 10, Hi: 13}, Groups: []rpc.Group{{Partition: 5}}, Values: wire.View([]float64{1, 2, 3, 4, 5, -6.5})},
		{Kind: rpc.KindKeys, DType: matrix.F32, Matrix: math.MaxUint32, Version: 1 << 31, Clock: math.MaxInt32,
			Rows: matrix.Range{Hi: 2}, Cols: matrix.Range{Lo: math.MinInt64, Hi: math.MaxInt64},
			Groups: []rpc.Group{{Partition: 9, Keys: 2}, {Partition: 4, Keys: 1}}, Keys: []int64{7, math.MinInt64, -1}, Make: true, Own: true, Assign: true,
			Values: wire.View([]float32{1, 2, 3, 4, 5, 6})},
		{Kind: rpc.KindKeys, DType: matrix.I8, Matrix: 1, Rows: matrix.Range{Hi: 1}, Cols: matrix.Range{Hi: 100},
			Groups: []rpc.Group{{Partition: 1, Keys: 3}}, Keys: []int64{99, 0, 5}, Values: []byte{1, 2, 3}},
		{Kind: rpc.KindKeys, DType: matrix.U16, Keys: []int64{1}, Groups: []rpc.Group{{Keys: 1}}},
		{Kind: rpc.KindStored, Matrix: 2, Rows: matrix.Range{Hi: 1}},
	}
}
