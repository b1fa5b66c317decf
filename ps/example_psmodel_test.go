package ps_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"thole.example/blob"
	"thole.example/format/all"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// onServers is a client of a job with one task, on two servers in this process that keep models in the bucket.
func onServers(bucket blob.Bucket) *ps.Client {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	check(err)
	o := ps.Options{Network: &mem.Network{}, Job: "example", Tasks: 1, Bound: ssp.BSP}
	for range 2 {
		l, err := o.Network.Listen(context.Background(), "", &server.Server{Funcs: funcs, Codecs: all.Codecs(), Bucket: bucket})
		check(err)
		o.Servers = append(o.Servers, l.Addr())
	}
	client, err := ps.Dial(context.Background(), o)
	check(err)
	return client
}

// onTasks runs the tasks of a job, each with a client of its own, on two servers in this process.
func onTasks(tasks int, local *ps.Local, run func(ctx context.Context, client *ps.Client, task int)) {
	o := ps.Options{Job: "example", Tasks: tasks, Local: local}
	stop, err := realServers(&o, setting{real: "mem"}, 2, &blob.Mem{})
	check(err)
	defer stop()
	var clients []*ps.Client
	for o.Task = range tasks {
		client, err := ps.Dial(context.Background(), o)
		check(err)
		clients = append(clients, client)
	}
	var wg sync.WaitGroup
	for task, client := range clients {
		wg.Go(func() { run(context.Background(), client, task) })
	}
	wg.Wait()
	for _, client := range clients {
		check(client.Leave(context.Background()))
		client.Close()
	}
}

// one makes the model and gives its handle.
func one(client *ps.Client, model *ps.Model) *ps.Matrix {
	ms, err := client.CreateModels(context.Background(), model)
	check(err)
	return ms[0]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// vector is a delta for a row.
func vector(row int64, values ...float64) matrix.Block {
	return matrix.Block{At: matrix.At(row, row+1, 0, int64(len(values))), Data: &matrix.Dense[float64]{Val: values}}
}

// print prints the values of a row.
func print(row matrix.Block) { fmt.Println(row.At.Rows.Lo, row.Data.Values()) }

func ExampleNewModel() {
	client := onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 2, 6, 1, 3) // blocks of one row and three columns
	m := one(client, w)
	fmt.Println(m.Meta().Name, m.Meta().Rows, m.Meta().Cols, m.Meta().DType, m.Meta().Layout, len(m.Parts().Owners))
	// Output: w 2 6 f64 dense 4
}

func ExampleMatrix_GetRow() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 3, 4))
	check(m.Increment(vector(1, 1, 2, 3, 4)))
	check(client.SyncClock(ctx))
	row, err := m.GetRow(ctx, 1)
	check(err)
	print(row)
	// Output: 1 [1 2 3 4]
}

func ExampleMatrix_GetRows() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 3, 2))
	check(m.IncrementRows([]int64{0, 1, 2}, matrix.Block{At: matrix.At(0, 3, 0, 2), Data: &matrix.Dense[float64]{Val: []float64{1, 1, 2, 2, 3, 3}}}))
	check(client.SyncClock(ctx))
	rows, err := m.GetRows(ctx, []int64{2, 0})
	check(err)
	for _, row := range rows { // in the order asked
		print(row)
	}
	// Output:
	// 2 [3 3]
	// 0 [1 1]
}

func ExampleMatrix_GetRowsFlow() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 4, 2))
	check(m.Increment(vector(3, 5, 6)))
	check(client.SyncClock(ctx))
	for row, err := range m.GetRowsFlow(ctx, []int64{0, 3, 1}, -1) {
		check(err)
		print(row)
	}
	// Output:
	// 0 [0 0]
	// 3 [5 6]
	// 1 [0 0]
}

func ExampleMatrix_Increment() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 2, 3))
	delta := vector(0, 1, 2, 3)
	check(m.Increment(delta))
	delta.Data.Values().([]float64)[0] = 100 // it was copied
	sparse := matrix.Block{At: matrix.At(0, 1, 0, 3), Data: &matrix.CSR[float64]{Ptr: []int{0, 1}, Idx: []int64{2}, Val: []float64{0.5}}}
	check(m.Increment(sparse))
	check(client.SyncClock(ctx))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output: 0 [1 2 3.5]
}

// Several deltas at once: row i of the block is added to the row that is named at i.
func ExampleMatrix_Assign() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 1, 4))
	check(m.Increment(vector(0, 1, 1, 1, 1)))
	check(m.Assign(vector(0, 7, 7))) // the first two, after what was pushed before
	check(m.Increment(vector(0, 1)))
	check(client.SyncClock(ctx))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output: 0 [8 7 1 1]
}

// The block is the client's from then on, and is sent from where it is.
func ExampleClient_Assign() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 1, 4))
	check(m.Increment(vector(0, 1, 1, 1, 1)))
	check(client.Assign("w", vector(0, 7, 7)))
	check(client.SyncClock(ctx))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output: 0 [7 7 1 1]
}

func ExampleAssignKeys() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 1<<40)
	sparse, err := matrix.ParseRowType("T_DOUBLE_SPARSE_LONGKEY")
	check(err)
	w.SetRowType(sparse)
	m := one(client, w)
	k, err := m.Plan(nil, []int64{1 << 39, 5, 5})
	check(err)
	check(ps.AssignKeys(m, k, []float64{1, 2, 3}))
	check(client.SyncClock(ctx))
	got := make([]float64, 3)
	check(ps.PullKeys(ctx, m, k, got))
	fmt.Println(got) // of a key that comes twice the last counts
	// Output: [1 3 3]
}

func ExampleMatrix_PushNow() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 1, 4))
	check(m.AssignNow(ctx, vector(0, 5, 5, 5, 5)).Wait(ctx))
	check(m.PushNow(ctx, vector(0, 1, 1)).Wait(ctx))
	row, err := m.GetRow(ctx, 0) // no clock has ended
	check(err)
	print(row)
	// Output: 0 [6 6 5 5]
}

func ExampleMatrix_IncrementRows() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 3, 2))
	deltas := matrix.Block{At: matrix.At(0, 2, 0, 2), Data: &matrix.Dense[float64]{Val: []float64{1, 2, 3, 4}}}
	check(m.IncrementRows([]int64{2, 0}, deltas))
	check(client.SyncClock(ctx))
	rows, err := m.GetRows(ctx, []int64{0, 1, 2})
	check(err)
	for _, row := range rows {
		print(row)
	}
	// Output:
	// 0 [3 4]
	// 1 [0 0]
	// 2 [1 2]
}

// Gradients by key: a plan says where the keys are, in any order; those of a key that comes twice are added up.
func ExamplePushKeys() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	model := ps.NewModel("e", 2, 1_000_000_000)
	model.SetRowType(12) // T_FLOAT_SPARSE_LONGKEY
	m := one(client, model)
	keys, err := m.Plan(nil, []int64{987654321, 5, 987654321})
	check(err)
	check(ps.PushKeys(m, keys, []float32{1, 2, 3, 4, 10, 20}))
	check(client.SyncClock(ctx))
	cols, err := m.GetCols(ctx, []int64{5, 987654321})
	check(err)
	fmt.Println(m.Meta().Attrs["angel.rowType"], cols.Data.Values())
	// Output: T_FLOAT_SPARSE_LONGKEY [3 4 11 22]
}

// A flush sends what was incremented; under BSP others, and the task itself, see it with the clock.
func ExampleClient_Flush() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 2)
	w.SetAttribute("matrix.staleness", "-1") // this matrix under ASP
	m := one(client, w)
	check(m.Increment(vector(0, 1, 2)))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	check(client.Flush(ctx))
	row, err = m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output:
	// 0 [0 0]
	// 0 [1 2]
}

func ExampleClient_Clock() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 2)
	w.SetMeta(func(m *matrix.Meta) { m.Rule = "sgd" })
	m := one(client, w)
	check(m.Increment(vector(0, 10, 20))) // the sum of the gradients of five examples
	check(client.Clock(ctx, 5, 0.5))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	fmt.Println("clock", m.Now())
	// Output:
	// 0 [-1 -2]
	// clock 1
}

func ExampleClient_SyncClock() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	m := one(client, ps.NewModel("w", 1, 2))
	check(m.Increment(vector(0, 1, 2)))
	check(m.Increment(vector(0, 10, 20)))
	check(client.SyncClock(ctx))
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output: 0 [11 22]
}

// A job saves a model, and another goes on with it: with more rows, of another type.
func ExampleModel_SetLoadPath() {
	ctx, bucket := context.Background(), &blob.Mem{}
	first := onServers(bucket)
	w := ps.NewModel("w", 1, 3)
	w.SetSavePath("models/day1")
	m := one(first, w)
	check(m.Increment(vector(0, 1, 2, 3)))
	check(first.SyncClock(ctx))
	check(first.SaveModels(ctx, w))
	check(first.Leave(ctx))
	first.Close()

	second := onServers(bucket)
	defer second.Close()
	w = ps.NewModel("w", 2, 4)
	w.SetRowType(7) // T_FLOAT_DENSE
	w.SetLoadPath("models/day1")
	rows, err := one(second, w).GetRows(ctx, []int64{0, 1})
	check(err)
	for _, row := range rows {
		print(row)
	}
	// Output:
	// 0 [1 2 3 0]
	// 1 [0 0 0 0]
}

func ExampleModel_SetSavePath() {
	ctx, bucket := context.Background(), &blob.Mem{}
	client := onServers(bucket)
	defer client.Close()
	w, v := ps.NewModel("w", 1, 3), ps.NewModel("v", 1, 3)
	w.SetSavePath("model")
	v.SetSavePath("model")
	v.SetNeedSave(false)
	_, err := client.CreateModels(ctx, w, v)
	check(err)
	check(client.SaveModels(ctx, w, v))
	for _, path := range []string{"model/w/_meta", "model/v/_meta"} {
		_, err := bucket.Open(ctx, path)
		fmt.Println(path, err == nil)
	}
	// Output:
	// model/w/_meta true
	// model/v/_meta false
}

// Four tasks add one each, and the cell is one.
func ExampleModel_SetAverage() {
	onTasks(4, nil, func(ctx context.Context, client *ps.Client, task int) {
		w := ps.NewModel("w", 1, 1)
		w.SetAverage(true)
		m := one(client, w)
		check(m.Increment(vector(0, 1)))
		check(client.SyncClock(ctx))
		row, err := m.GetRow(ctx, 0)
		check(err)
		if task == 0 {
			print(row)
		}
	})
	// Output: 0 [1]
}

// Four tasks of a process that have the same Local keep a row of 80 kB that all of them pull once.
func ExampleModel_SetHogwild() {
	local := ps.NewLocal()
	onTasks(4, local, func(ctx context.Context, client *ps.Client, task int) {
		w := ps.NewModel("w", 1, 10_000)
		w.SetHogwild(true) // which is the default
		_, err := one(client, w).GetRow(ctx, 0)
		check(err)
		if task == 0 {
			fmt.Println(local.Bytes()/1000, "kB")
		}
		check(client.SyncClock(ctx)) // until all tasks are here; a barrier of any of them drops the row
		check(client.Barrier(ctx))
	})
	// Output: 80 kB
}

func ExampleModel_SetOplogType() {
	client := onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 3)
	w.SetOplogType("DENSE_DOUBE") // as the document spells it
	one(client, w)
	v := ps.NewModel("v", 1, 3)
	v.SetOplogType("DENSE_INT")
	_, err := client.CreateModels(context.Background(), v)
	fmt.Println(err)
	// Output: ps: matrix v: oplog type DENSE_INT is for values of i32 and these are f64, want DENSE_DOUBLE, auto
}

func ExampleModel_SetRowType() {
	client := onServers(&blob.Mem{})
	defer client.Close()
	for _, name := range []string{"T_DOUBLE_SPARSE", "T_FLOAT_DENSE", "T_LONG_SPARSE_LONGKEY", "T_INT_ARBITRARY"} {
		rowType, err := matrix.ParseRowType(name)
		check(err)
		w := ps.NewModel(name, 1, 100)
		w.SetRowType(rowType)
		m := one(client, w)
		fmt.Println(name, m.Meta().DType, m.Meta().Layout)
	}
	// Output:
	// T_DOUBLE_SPARSE f64 sparse
	// T_FLOAT_DENSE f32 dense
	// T_LONG_SPARSE_LONGKEY i64 sparse
	// T_INT_ARBITRARY i32 sparse
}

func ExampleModel_SetAttribute() {
	client := onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 3)
	w.SetAttribute("matrix.oplog.enablefilter", "true")
	w.SetAttribute("owner", "ranking")
	fmt.Println(one(client, w).Meta().Attrs["owner"])
	// Output: ranking
}

// Small increments wait until their sum is worth a message.
func ExampleModel_SetFilter() {
	ctx, client := context.Background(), onServers(&blob.Mem{})
	defer client.Close()
	w := ps.NewModel("w", 1, 2)
	w.SetFilter(1)
	m := one(client, w)
	for range 3 {
		check(m.Increment(vector(0, 0.5, 0.25)))
		check(client.SyncClock(ctx))
	}
	row, err := m.GetRow(ctx, 0)
	check(err)
	print(row)
	m.SetFilter(-1)
	check(client.SyncClock(ctx))
	row, err = m.GetRow(ctx, 0)
	check(err)
	print(row)
	// Output:
	// 0 [1.5 0]
	// 0 [1.5 0.75]
}
