package ps_test

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// TestSaveNotTwice: a save whose connection is lost is begun anew under another name, also if a change that was under way
// before it has found the loss first: the server may have put the partitions into it.
func TestSaveNotTwice(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{Bound: ssp.ASP, Retry: time.Minute})
	defer p.Close()
	m := create(t, p, "", oneMeta)
	pushes, stages := 0, []string{}
	c.become(func(_ int, q *rpc.Request) fate {
		switch q.Op {
		case rpc.OpPush:
			if pushes++; pushes == 1 {
				return mute
			}
		case rpc.OpSave:
			var a rpc.Save
			if err := json.Unmarshal(q.Arg, &a); err != nil {
				t.Error(err)
			}
			if stages = append(stages, a.Stage); len(stages) == 1 {
				return lostAfter
			}
		}
		return delivered
	})
	must(t, m.Increment(dense(oneAt, 1)))
	must(t, p.Clock(t.Context(), 0, 0))
	must(t, p.Save(t.Context(), ps.SaveOptions{Path: "x"}))
	if pushes != 2 || len(stages) != 2 || stages[0] == stages[1] {
		t.Errorf("%d pushes, want 2; saves %q, want two of different names", pushes, stages)
	}
	c.right(t)
}

// TestReadAfterLoss: a read sees what the task pushed before it, also if the connection was lost on the way: the changes are
// sent again first.
func TestReadAfterLoss(t *testing.T) {
	for _, lost := range []fate{lostBefore, lostAfter} {
		for _, inFlight := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(2)
				p := c.dial(t, ps.Options{Bound: ssp.ASP, Retry: time.Minute, InFlight: inFlight})
				defer p.Close()
				d, s := both(t, p)
				pushes := map[int]int{}
				c.become(func(server int, q *rpc.Request) fate {
					if q.Op == rpc.OpPush {
						if pushes[server]++; pushes[server] == 2 {
							return lost
						}
					}
					return delivered
				})
				for i := range 3 {
					pushOnes(t, d, s)
					must(t, p.Clock(t.Context(), 0, 0))
					row, err := d.GetRow(t.Context(), 0)
					must(t, err)
					if v := row.Data.Values().([]float64); slices.Min(v) != float64(i+1) || slices.Max(v) != float64(i+1) {
						t.Errorf("after %d pushes the row is %v", i+1, v)
					}
				}
				wantOnes(t, c, 3)
			})
		}
	}
}

// TestKeysAskedTwice: keys that were asked for over a connection that was lost are not touched any more, though they were
// answered over another: a server in the same process may still read them.
func TestKeysAskedTwice(t *testing.T) {
	wide := matrix.Meta{Name: "k", Rows: 1, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse}
	for _, next := range []bool{false, true} {
		c := newCluster(1)
		p := c.dial(t, ps.Options{Bound: ssp.ASP, Retry: time.Minute})
		m := create(t, p, "", wide)
		var asked []int64
		c.become(func(_ int, q *rpc.Request) fate {
			if len(q.Parts) == 1 && asked == nil {
				asked = q.Parts[0].Keys
				return lostAfter
			}
			return delivered
		})
		read := func(keys ...int64) {
			if next {
				_, err := p.Next(t.Context(), 0, 0, []matrix.Lookup{{Matrix: "k", Cols: keys}}, nil)
				must(t, err)
			} else {
				_, err := m.GetCols(t.Context(), keys)
				must(t, err)
			}
		}
		read(5, 6, 7)
		before := slices.Clone(asked)
		read(1, 2, 3)
		if slices.Sort(before); len(before) != 3 || before[0] != 5 {
			t.Fatalf("asked for %v, want 5, 6 and 7", before)
		}
		if slices.Sort(asked); !slices.Equal(asked, before) {
			t.Errorf("next %v: the keys %v became %v when others were asked for", next, before, asked)
		}
		must(t, p.Close())
	}
}
