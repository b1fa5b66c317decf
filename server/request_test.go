package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// raw is one connection to one server, for requests that no client would send.
type raw struct {
	t    *testing.T
	conn rpc.Conn
}

func dialRaw(t *testing.T, c *cluster) *raw {
	t.Helper()
	conn, err := c.net.Dial(t.Context(), c.addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &raw{t, conn}
}

func (r *raw) ask(q rpc.Request) (*rpc.Response, error) {
	if q.Job == "" {
		q.Job = "j"
	}
	if q.Version == 0 {
		q.Version = 1
	}
	return r.conn.Start(r.t.Context(), &q).Wait(r.t.Context())
}

func (r *raw) must(q rpc.Request) *rpc.Response {
	r.t.Helper()
	resp, err := r.ask(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func arg(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

func join(tasks int, bound ssp.Bound) []byte { return arg(rpc.Join{Tasks: tasks, Bound: bound}) }

// create makes matrices on server 0 of some.
func create(servers int, cut string, ms ...matrix.Meta) []byte {
	c := rpc.Create{Servers: servers, Version: 1}
	for _, m := range ms {
		c.Matrices = append(c.Matrices, rpc.Spec{Meta: m, Partitioner: cut})
	}
	return arg(c)
}

func push(name string, blocks ...matrix.Block) []rpc.Piece {
	return []rpc.Piece{{Matrix: name, Blocks: blocks}}
}

func columns(at matrix.Rect, idx []int64, val ...float64) matrix.Block {
	return matrix.Block{At: at, Data: &matrix.Cols[float64]{Idx: idx, Val: val}}
}

// malformed are requests that must be refused, each with the error it must be.
func malformed() map[string]struct {
	q    rpc.Request
	want error
} {
	whole := matrix.At(0, 2, 0, 40)
	ok := columns(matrix.At(0, 2, 0, 20), []int64{3}, 1, 1)
	bad := func(b matrix.Block) rpc.Request { return rpc.Request{Op: rpc.OpPush, Pieces: push("d", ok, b)} }
	pull := func(name string, at matrix.Rect, cols []int64) rpc.Request {
		return rpc.Request{Op: rpc.OpPull, Pieces: []rpc.Piece{{Matrix: name, At: at, Cols: cols}}}
	}
	good := matrix.Meta{Name: "fresh", Rows: 1, Cols: 1, DType: matrix.F32}
	with := func(change func(m *matrix.Meta)) []byte {
		m := good
		m.Name = "other"
		change(&m)
		return create(2, "", good, m)
	}
	return map[string]struct {
		q    rpc.Request
		want error
	}{
		"operation":            {rpc.Request{Op: 99}, rpc.ErrMalformed},
		"no operation":         {rpc.Request{}, rpc.ErrMalformed},
		"job":                  {rpc.Request{Op: rpc.OpPull, Job: "nobody"}, rpc.ErrNotFound},
		"task of others":       {rpc.Request{Op: rpc.OpPush, Task: 1, Tick: true}, rpc.ErrRefused},
		"task below zero":      {rpc.Request{Op: rpc.OpLeave, Task: -1}, rpc.ErrRefused},
		"join json":            {rpc.Request{Op: rpc.OpJoin, Arg: []byte("{")}, rpc.ErrMalformed},
		"join no task":         {rpc.Request{Op: rpc.OpJoin, Arg: join(0, 0)}, rpc.ErrMalformed},
		"join too many":        {rpc.Request{Op: rpc.OpJoin, Arg: join(1<<30, 0), Job: "k"}, rpc.ErrMalformed},
		"join beyond":          {rpc.Request{Op: rpc.OpJoin, Task: 2, Arg: join(2, 0)}, rpc.ErrMalformed},
		"join bound":           {rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: join(2, 3)}, rpc.ErrRefused},
		"join bound below":     {rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: join(2, -3)}, rpc.ErrMalformed},
		"join tasks":           {rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: join(3, 0)}, rpc.ErrRefused},
		"join again":           {rpc.Request{Op: rpc.OpJoin, Arg: join(2, 0)}, rpc.ErrRefused},
		"create json":          {rpc.Request{Op: rpc.OpCreate, Arg: []byte("[]")}, rpc.ErrMalformed},
		"create no servers":    {rpc.Request{Op: rpc.OpCreate, Arg: create(0, "", good)}, rpc.ErrMalformed},
		"create partitioner":   {rpc.Request{Op: rpc.OpCreate, Arg: create(2, "rows", good)}, rpc.ErrMalformed},
		"create dense hash":    {rpc.Request{Op: rpc.OpCreate, Arg: create(2, "hash", good)}, rpc.ErrRefused},
		"create other":         {rpc.Request{Op: rpc.OpCreate, Arg: create(2, "", good, meta("d", 3, 40, 0))}, rpc.ErrExists},
		"create size":          {rpc.Request{Op: rpc.OpCreate, Arg: with(func(m *matrix.Meta) { m.Rows = -1 })}, rpc.ErrMalformed},
		"create type":          {rpc.Request{Op: rpc.OpCreate, Arg: with(func(m *matrix.Meta) { m.DType = matrix.F16 })}, rpc.ErrRefused},
		"create rule":          {rpc.Request{Op: rpc.OpCreate, Arg: with(func(m *matrix.Meta) { m.Rule = "magic" })}, rpc.ErrNotFound},
		"create cells":         {rpc.Request{Op: rpc.OpCreate, Arg: with(func(m *matrix.Meta) { m.Rows, m.Cols = 1<<40, 1<<40 })}, rpc.ErrRefused},
		"create pieces":        {rpc.Request{Op: rpc.OpCreate, Arg: with(func(m *matrix.Meta) { m.Cols, m.BlockCols = 1<<40, 1 })}, rpc.ErrRefused},
		"create twice":         {rpc.Request{Op: rpc.OpCreate, Arg: with(func(m *matrix.Meta) { m.Name, m.Rows = "fresh", 2 })}, rpc.ErrMalformed},
		"pull matrix":          {pull("x", whole, nil), rpc.ErrNotFound},
		"pull place":           {pull("d", matrix.At(0, 3, 0, 40), nil), rpc.ErrMalformed},
		"pull order":           {pull("d", whole, []int64{4, 3}), rpc.ErrMalformed},
		"pull twice":           {pull("d", whole, []int64{4, 4}), rpc.ErrMalformed},
		"pull outside":         {pull("h", whole, []int64{40}), rpc.ErrMalformed},
		"pull routing map":     {rpc.Request{Op: rpc.OpPull, Version: 7, Pieces: pull("d", whole, nil).Pieces}, rpc.ErrStale},
		"push routing map":     {rpc.Request{Op: rpc.OpPush, Version: 7, Pieces: push("d", ok)}, rpc.ErrStale},
		"push matrix":          {rpc.Request{Op: rpc.OpPush, Pieces: push("x", ok)}, rpc.ErrNotFound},
		"push clock":           {rpc.Request{Op: rpc.OpPush, Clock: 5, Tick: true, Pieces: push("d", ok)}, rpc.ErrMalformed},
		"push past":            {rpc.Request{Op: rpc.OpPush, Clock: -1, Tick: true, Pieces: push("d", ok)}, rpc.ErrMalformed},
		"push weight":          {rpc.Request{Op: rpc.OpPush, Tick: true, Weight: -1, Pieces: push("d", ok)}, rpc.ErrMalformed},
		"push no weight":       {rpc.Request{Op: rpc.OpPush, Tick: true, Weight: math.NaN(), Pieces: push("d", ok)}, rpc.ErrMalformed},
		"push rate":            {rpc.Request{Op: rpc.OpPush, Tick: true, Rate: math.Inf(1), Pieces: push("d", ok)}, rpc.ErrMalformed},
		"push type":            {bad(matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 20))), rpc.ErrMalformed},
		"push two partitions":  {bad(columns(whole, []int64{3, 30}, 1, 1, 1, 1)), rpc.ErrMalformed},
		"push other partition": {bad(columns(matrix.At(0, 2, 20, 40), []int64{30}, 1, 1)), rpc.ErrMalformed},
		"push length":          {bad(columns(matrix.At(0, 2, 0, 20), []int64{3}, 1)), rpc.ErrMalformed},
		"push order":           {bad(columns(matrix.At(0, 2, 0, 20), []int64{4, 3}, 1, 1, 1, 1)), rpc.ErrMalformed},
		"push outside":         {bad(columns(matrix.At(0, 2, 0, 20), []int64{25}, 1, 1)), rpc.ErrMalformed},
		"push keys of two":     {rpc.Request{Op: rpc.OpPush, Pieces: push("h", columns(whole, []int64{0, 1, 2, 3, 4}, make([]float64, 10)...))}, rpc.ErrMalformed},
		"push dense to hash":   {rpc.Request{Op: rpc.OpPush, Pieces: push("h", matrix.NewDense(matrix.F64, whole))}, rpc.ErrMalformed},
		"step pull":            {rpc.Request{Op: rpc.OpStep, Weight: 1, Pieces: append(push("d", ok), rpc.Piece{Matrix: "x", At: whole})}, rpc.ErrNotFound},
		"get":                  {rpc.Request{Op: rpc.OpGet, Func: "median", Pieces: push("d")}, rpc.ErrNotFound},
		"get argument":         {rpc.Request{Op: rpc.OpGet, Func: "sum", Arg: []byte("{"), Pieces: push("d")}, rpc.ErrMalformed},
		"get matrix":           {rpc.Request{Op: rpc.OpGet, Func: "sum", Pieces: push("x")}, rpc.ErrNotFound},
		"update":               {rpc.Request{Op: rpc.OpUpdate, Func: "sum", Pieces: push("d")}, rpc.ErrNotFound},
		"update argument":      {rpc.Request{Op: rpc.OpUpdate, Func: "fill", Pieces: push("d")}, rpc.ErrMalformed},
		"save json":            {rpc.Request{Op: rpc.OpSave, Arg: []byte("{")}, rpc.ErrMalformed},
		"save codec":           {rpc.Request{Op: rpc.OpSave, Arg: arg(rpc.Save{Codec: "zip", Path: "p", Matrices: []string{"d"}})}, rpc.ErrNotFound},
		"save matrix":          {rpc.Request{Op: rpc.OpSave, Arg: arg(rpc.Save{Codec: "npy", Path: "p", Matrices: []string{"x"}})}, rpc.ErrNotFound},
		"commit json":          {rpc.Request{Op: rpc.OpCommit, Arg: []byte("{")}, rpc.ErrMalformed},
		"commit":               {rpc.Request{Op: rpc.OpCommit, Arg: arg(rpc.Save{Stage: "none"})}, rpc.ErrNotFound},
		"abort json":           {rpc.Request{Op: rpc.OpAbort, Arg: []byte("{")}, rpc.ErrMalformed},
		"load json":            {rpc.Request{Op: rpc.OpLoad, Arg: []byte("{")}, rpc.ErrMalformed},
	}
}

// TestMalformed wants every wrong request answered by a typed error, with the job as it was and the connection alive.
func TestMalformed(t *testing.T) {
	for name, c := range malformed() {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t, &mem.Network{}, 1)
			r, other := dialRaw(t, cl), dialRaw(t, cl)
			r.must(rpc.Request{Op: rpc.OpJoin, Arg: join(2, 0)})
			d, h := meta("d", 2, 40, matrix.RowSparse), meta("h", 2, 40, matrix.RowSparse)
			d.BlockCols = 20
			r.must(rpc.Request{Op: rpc.OpCreate, Arg: create(2, "", d)})
			r.must(rpc.Request{Op: rpc.OpCreate, Arg: create(2, "hash", h)})
			_, err := r.ask(c.q)
			if !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			// The clock has not moved and nothing is staged or made: after one whole step of both tasks all is zero.
			other.must(rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: join(2, 0)})
			r.must(rpc.Request{Op: rpc.OpPush, Tick: true})
			other.must(rpc.Request{Op: rpc.OpPush, Task: 1, Tick: true})
			got := r.must(rpc.Request{Op: rpc.OpPull, Clock: 1, Pieces: []rpc.Piece{
				{Matrix: "d", At: d.Rect()}, {Matrix: "h", At: h.Rect()},
			}})
			for _, p := range got.Pieces {
				for _, b := range p.Blocks {
					if b.Data.NNZ() > 0 {
						t.Errorf("matrix %s has %v", p.Matrix, b.Data)
					}
				}
			}
			if _, err := r.ask(rpc.Request{Op: rpc.OpPull, Pieces: push("fresh")}); !errors.Is(err, rpc.ErrNotFound) {
				t.Errorf("a matrix of a refused request is there: %v", err)
			}
		})
	}
}

// TestLimits wants pushes refused that would not fit, and those of a fast task to wait for the slow one.
func TestLimits(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 0)
	c.stageBytes = 4000
	c.start(1)
	r, other := dialRaw(t, c), dialRaw(t, c)
	r.must(rpc.Request{Op: rpc.OpJoin, Arg: join(2, 0)})
	other.must(rpc.Request{Op: rpc.OpJoin, Task: 1, Arg: join(2, 0)})
	m := meta("m", 1, 1000, matrix.RowDense)
	m.BlockCols = 1000
	r.must(rpc.Request{Op: rpc.OpCreate, Arg: create(1, "", m)})
	if _, err := r.ask(rpc.Request{Op: rpc.OpPush, Pieces: push("m", matrix.NewDense(matrix.F64, m.Rect()))}); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("8000 bytes of 4000: %v", err)
	}
	small := matrix.At(0, 1, 0, 100)
	for clock := range int32(2) { // 800 bytes each: up to the half they are taken
		r.must(rpc.Request{Op: rpc.OpPush, Clock: clock, Tick: true, Pieces: push("m", matrix.NewDense(matrix.F64, small))})
	}
	ctx, cancel := context.WithCancel(t.Context())
	q := rpc.Request{Op: rpc.OpPush, Job: "j", Version: 1, Clock: 2, Tick: true, Pieces: push("m", matrix.NewDense(matrix.F64, small))}
	waits := r.conn.Start(ctx, &q)
	cancel()
	if _, err := waits.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("a push that waits and is given up: %v", err)
	}
	again := q
	waits = r.conn.Start(t.Context(), &again)
	for clock := range int32(2) {
		other.must(rpc.Request{Op: rpc.OpPush, Task: 1, Clock: clock, Tick: true, Pieces: push("m", matrix.NewDense(matrix.F64, small))})
	}
	if _, err := waits.Wait(t.Context()); err != nil {
		t.Errorf("a push that waited: %v", err)
	}
}
