package ps_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/ps"
	"thole.example/rpc"
)

// TestCheckpointLies: answers that are none to a checkpoint or a restore are told, and nothing of such a checkpoint is made visible.
func TestCheckpointLies(t *testing.T) {
	ctx := context.Background()
	for results, want := range map[int]string{0: "0 results of a checkpoint, want 1", 2: "2 results of a checkpoint, want 1"} {
		c := newCluster(2)
		var asked []rpc.Op
		c.stores[1].lie = func(q *rpc.Request, r *rpc.Response) {
			if q.Op == rpc.OpSave {
				r.Results = make([]rpc.Result, results)
			}
		}
		c.stores[0].lie = func(q *rpc.Request, r *rpc.Response) {
			if q.Op == rpc.OpSave {
				r.Results = make([]rpc.Result, 1)
			}
			asked = append(asked, q.Op)
		}
		p := c.dial(t, ps.Options{})
		create(t, p, "", oneMeta)
		if err := p.Checkpoint(ctx, "c"); !errors.Is(err, ps.ErrAnswer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		c.stores[0].mu.Lock()
		if n := len(asked); n < 2 || asked[n-1] != rpc.OpAbort || asked[n-2] != rpc.OpSave {
			t.Errorf("asked for %v, want a save and its abort", asked)
		}
		c.stores[0].mu.Unlock()
		p.Close()
	}
}

// TestRestoreAnswers: all servers say what they restored, and it has to be the same.
func TestRestoreAnswers(t *testing.T) {
	ctx := context.Background()
	good := rpc.Restored{Job: "old", Clock: 7, Matrices: []rpc.RestoredMatrix{{Name: "w", Clock: 7, Steps: 5}}}
	other := good
	other.Clock = 8
	for _, x := range []struct {
		answers [2]any
		want    string
	}{
		{[2]any{good, good}, ""},
		{[2]any{good, other}, "they keep checkpoints in different places"},
		{[2]any{3, 3}, "cannot unmarshal"},
		{[2]any{good, nil}, "0 results of a restore, want 1"},
	} {
		c := newCluster(2)
		for i, s := range c.stores {
			s.lie = func(q *rpc.Request, r *rpc.Response) {
				if q.Op != rpc.OpLoad || x.answers[i] == nil {
					return
				}
				text, err := json.Marshal(x.answers[i])
				if err != nil {
					t.Error(err)
				}
				r.Results = []rpc.Result{{Data: text}}
			}
			s.models = map[string]map[string]map[cell]float64{}
		}
		p := c.dial(t, ps.Options{})
		create(t, p, "", oneMeta)
		for _, s := range c.stores {
			s.mu.Lock()
			s.models["c"] = map[string]map[cell]float64{"w": {}}
			s.mu.Unlock()
		}
		got, err := p.Restore(ctx, "c")
		switch {
		case x.want == "" && (err != nil || !reflect.DeepEqual(*got, good)):
			t.Errorf("%+v: %v, want %+v", got, err, good)
		case x.want != "" && (!errors.Is(err, ps.ErrAnswer) || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%v, want %q", err, x.want)
		case x.want != "" && !errors.Is(p.Flush(ctx), ps.ErrAnswer):
			t.Error("the client goes on with servers that disagree")
		}
		c.right(t)
		p.Close()
	}
}

// TestRestoreForgets: rows that were read before a restore are not those after it.
func TestRestoreForgets(t *testing.T) {
	o := ps.Options{Job: "j", Tasks: 1, Bound: 2}
	stop, err := realServers(&o, setting{real: "mem"}, 2, &blob.Mem{})
	must(t, err)
	defer stop()
	p, err := ps.Dial(t.Context(), o)
	must(t, err)
	defer p.Close()
	m := create(t, p, "", oneMeta)
	must(t, p.Checkpoint(t.Context(), "state"))
	must(t, m.Increment(dense(oneAt, 1)))
	must(t, p.SyncClock(t.Context()))
	for _, want := range []float64{1, 0} {
		row, err := m.GetRow(t.Context(), 0)
		must(t, err)
		if v := row.Data.Values().([]float64)[0]; v != want {
			t.Errorf("the cell is %v, want %v", v, want)
		}
		_, err = p.Restore(t.Context(), "state")
		must(t, err)
	}
}
