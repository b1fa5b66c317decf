package ps_test

import (
	"context"
	"fmt"

	"thole.example/blob"
	"thole.example/matrix"
)

// An increment has what has changed since another checkpoint. Columns that went away since stay away when it is restored.
func ExampleClient_CheckpointSince() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	check(client.Create(ctx, "", matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse}))
	w, err := client.Matrix("w")
	check(err)
	add := func(keys []int64, values ...float64) {
		at := matrix.At(0, 1, 0, 1<<40)
		check(w.Increment(matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: keys, Val: values}}))
		check(client.SyncClock(ctx))
	}

	add([]int64{7, 8}, 0.01, 5)
	check(client.CheckpointSince(ctx, "state/0", "")) // a whole one
	check(w.Update(ctx, "compress", map[string]any{"limit": 0.1}))
	add([]int64{9}, 1)
	check(client.CheckpointSince(ctx, "state/1", "state/0"))
	add([]int64{8}, 100)

	_, err = client.Restore(ctx, "state/1")
	check(err)
	row, err := w.GetRow(ctx, 0)
	check(err)
	fmt.Println(row.Data.(*matrix.Cols[float64]).Idx, row.Data.Values())
	// Output: [8 9] [5 1]
}
