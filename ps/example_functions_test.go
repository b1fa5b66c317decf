package ps_test

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
)

func ExampleMatrix_Get() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 2, 3))
	check(m.Increment(vector(0, 1, -5, 3)))
	check(m.Increment(vector(1, 2, 2, 2)))
	check(client.SyncClock(ctx))
	sum, err := m.Get(ctx, "sum", psf.Args{"rows": 0})
	check(err)
	fmt.Println(sum.Number())
	top, err := m.Get(ctx, "topk", psf.Args{"k": 1, "abs": true})
	check(err)
	fmt.Println(top)
	// Output:
	// -1 <nil>
	// [{"row":0,"col":1,"value":-5}]
}

// An update takes effect at once, whatever the bound: increments that are not flushed do not go before it.
func ExampleMatrix_StartUpdate() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 2, 3))
	future := m.StartUpdate(ctx, "put", psf.Args{"row": 0, "values": []float64{1, 2, 3}})
	check(future.Wait(ctx))
	check(m.Update(ctx, "zip2map", psf.Args{"from1": 0, "from2": 0, "to": 1, "f": "2*x + y"}))
	row, err := m.GetRow(ctx, 1)
	check(err)
	print(row)
	// Output: 1 [3 6 9]
}

// A staged function waits for the clock of its task, and takes its turn among increments.
func ExampleMatrix_Stage() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 1, 2))
	check(m.Increment(vector(0, 1, 2)))
	check(m.Stage("scale", psf.Args{"by": 10}))
	check(m.Increment(vector(0, 1, 1)))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	check(client.SyncClock(ctx))
	row, err = m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output:
	// 0 [0 0]
	// 0 [11 21]
}

// The columns of an embedding come to be when they are asked for, with values that follow from the seed.
func ExampleInitAndGet() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	e := ps.NewModel("embedding", 2, 1<<40)
	sparse, err := matrix.ParseRowType("T_FLOAT_SPARSE_LONGKEY")
	check(err)
	e.SetRowType(sparse)
	e.SetMeta(func(m *matrix.Meta) { m.Init = matrix.Init{Kind: "uniform", Scale: 0.1, Seed: 1} })
	m := one(client, e)
	keys, err := m.Plan(nil, []int64{1 << 39, 7, 1 << 39})
	check(err)
	values := make([]float32, 2*keys.Len())
	check(ps.InitAndGet(ctx, m, keys, values))
	fmt.Println(values[0] == values[4], values[0] != 0)
	stored, err := m.Get(ctx, "size", nil)
	check(err)
	fmt.Println(stored, "cells")
	// Output:
	// true true
	// 4 cells
}

func ExamplePushPullKeys() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 100)
	w.SetAttribute("matrix.staleness", "-1")
	m := one(client, w)
	keys, err := m.Plan(nil, []int64{90, 10, 90})
	check(err)
	values := make([]float64, 3)
	check(ps.PushPullKeys(ctx, m, keys, []float64{1, 2, 3}, values))
	fmt.Println(values)
	// Output: [4 2 4]
}
