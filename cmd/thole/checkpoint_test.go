package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"thole.example/blob"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/state"
)

// makeSeries DIR N trains something on two servers, and writes N checkpoints of it to the folder, each an increment of the one before,
// and the model of each moment to DIR.models.
func makeSeries(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(series20(context.Background(), filepath.ToSlash(ts.MkAbs(args[0])), n))
}

// series20 makes checkpoints every 20 steps.
func series20(ctx context.Context, dir string, n int) error {
	c, err := embed(ctx, 2, nil, blob.NewPaths())
	if err != nil {
		return err
	}
	defer c.stop()
	funcs, err := psf.NewTable(functions(), nil)
	if err != nil {
		return err
	}
	p, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "series", Tasks: 1, Funcs: funcs})
	if err != nil {
		return err
	}
	defer p.Close()
	err = errors.Join(
		p.Create(ctx, "hash", matrix.Meta{Name: "w", Rows: 2, Cols: 3000, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adam"}),
		p.Create(ctx, "", matrix.Meta{Name: "b", Rows: 1, Cols: 40, DType: matrix.F32, Rule: "adam"}),
		p.Create(ctx, "", matrix.Meta{Name: "train.loss", Rows: 2, Cols: 1 << 30, DType: matrix.F64, Layout: matrix.RowSparse}))
	base := ""
	for i := 0; err == nil && i < n; i++ {
		for step := range int64(20) {
			var cols matrix.Cols[float32]
			for k := range int64(30) {
				key := k + int64(i)*29 + step
				cols.Idx = append(cols.Idx, key)
				cols.Val = append(cols.Val, float32(key%7)-3, float32(k%5)-2)
			}
			b := matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 40))
			b.Data.Values().([]float32)[step] = float32(i + 1)
			loss := matrix.Block{At: matrix.At(0, 2, 0, 1<<30), Data: &matrix.Cols[float64]{Idx: []int64{int64(i)}, Val: []float64{1, 2}}}
			err = errors.Join(err, p.Push("w", matrix.Block{At: matrix.At(0, 2, 0, 3000), Data: &cols}), p.Push("b", b),
				p.Push("train.loss", loss), p.Clock(ctx, 1, 0.1))
		}
		name := state.StepName(int64(20 * (i + 1)))
		path := dir + "/" + name
		moment, merr := json.Marshal(state.Moment{Run: "r1", Attempt: 1, Epoch: i + 1, Step: 20, Steps: 20, Digest: "5e77"})
		files := map[string][]byte{jobFileName: fmt.Appendf(nil, "seed: %d\n", i), graph.FileName: []byte("{}")}
		k, berr := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: path, Base: base, Track: true, Moment: moment, Files: files})
		if err = errors.Join(err, merr, berr); err != nil {
			return err
		}
		err = errors.Join(k.Wait(ctx),
			p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: dir + ".models/" + name, Matrices: []string{"w", "b"}, Files: files}))
		base = path
	}
	return err
}

// TestCheckpointRow: the list says where in the training a checkpoint was taken.
func TestCheckpointRow(t *testing.T) {
	head := &state.Checkpoint{
		Job: "ctr", Clock: 7, ID: "X", Base: state.Link{Path: "f/000000000400", ID: "W"},
		Moment: state.Moment{Run: "r1", Attempt: 2, Epoch: 3, Step: 20, Steps: 200, Best: "best.000002"},
	}
	e := state.Entry{Name: "000000000420", Path: "f/000000000420", Head: head, Bytes: 99}
	r := rowOf(&e)
	if r.where() != "20 of 200" || r.Kind != "increment" || r.Base != "f/000000000400" || r.Attempt != 2 || r.Epoch != 3 || r.Best != "best.000002" {
		t.Errorf("%+v", r)
	}
	var out strings.Builder
	f := &checkpointFlags{env: &env{out: &out, clock: func() time.Time { return time.Unix(0, 0) }}}
	bad := state.Entry{Name: "000000000440", Path: "f/000000000440", Err: errors.New("damaged \x1b[2J"), Bytes: 5}
	s := &checkpointer{path: "f", entries: []state.Entry{e, bad}}
	f.table(s, []checkpointRow{r, rowOf(&bad)})
	for _, want := range []string{"increment of 000000000400", "20 of 200", "r1", "damaged", `\x1b[2J`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 3*time.Hour + 61*time.Second: "3h1m", 50 * time.Hour: "2d",
	} {
		if got := longAge(d); got != want {
			t.Errorf("%v is %s old, want %s", d, got, want)
		}
	}
	if got := fmt.Sprint(boundText(0), " ", boundText(3)); got != "BSP SSP(3)" {
		t.Error(got)
	}
}
