package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// inBubble runs a test with servers in a bubble.
func inBubble(t *testing.T, servers int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newCluster(t, &mem.Network{}, servers)) })
}

// digit is the delta that tells which task pushed it in which step: task t adds 1 to the cell of its column, and every
// column counts the steps of one task.
func digit(task int) matrix.Block {
	at := int64(task * 40) // on different partitions, and so on different servers
	return matrix.Block{At: matrix.At(0, 1, at, at+1), Data: &matrix.Dense[float64]{Val: []float64{1}}}
}

// steps is how many steps of each task the client reads at this moment.
func steps(ctx context.Context, p *ps.Client, tasks int) ([]int, error) {
	got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "m"}})
	if err != nil {
		return nil, err
	}
	out := make([]int, tasks)
	for t := range tasks {
		out[t] = int(got[0].Data.Values().([]float64)[t*40])
	}
	return out, nil
}

// TestWhatAReaderSees lets three tasks of different speed run, and wants each to see what its bound promises, in every
// step, on one server and on several.
func TestWhatAReaderSees(t *testing.T) {
	const tasks, rounds = 3, 12
	for _, bound := range []ssp.Bound{ssp.BSP, 1, 3, ssp.ASP} {
		for _, servers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%v/%d", bound, servers), func(t *testing.T) {
				inBubble(t, servers, func(t *testing.T, c *cluster) {
					c.run(tasks, bound, func(ctx context.Context, p *ps.Client, task int) error {
						if err := p.Create(ctx, "", meta("m", 1, tasks*40, matrix.RowDense)); err != nil {
							return err
						}
						if err := p.Barrier(ctx); err != nil {
							return err
						}
						for now := range rounds - 4*task { // the faster ones finish earlier
							time.Sleep(time.Duration(10-3*task+now%3) * time.Millisecond)
							if err := sees(ctx, p, bound, task, now, tasks); err != nil {
								return err
							}
							if err := p.Push("m", digit(task)); err != nil {
								return err
							}
							if err := p.Clock(ctx, 0, 0); err != nil {
								return err
							}
						}
						return nil
					})
				})
			})
		}
	}
}

func sees(ctx context.Context, p *ps.Client, bound ssp.Bound, task, now, tasks int) error {
	got, err := steps(ctx, p, tasks)
	if err != nil {
		return err
	}
	for of, n := range got {
		made := 12 - 4*of // all that task of ever makes
		least, most := min(bound.Need(now), made), made
		switch {
		case bound == ssp.BSP:
			most = min(now, made)
		case bound == ssp.ASP && of == task:
			least, most = now, now
		case bound != ssp.ASP:
			most = min(now, made) // this task's own steps hold the rest back
		}
		if n < least || n > most {
			return fmt.Errorf("at clock %d it sees %d steps of task %d, want %d to %d", now, n, of, least, most)
		}
	}
	if whole := slices.Max(got); bound != ssp.ASP {
		for of, n := range got {
			if n != min(whole, 12-4*of) {
				return fmt.Errorf("at clock %d it sees %v: not whole steps", now, got)
			}
		}
	}
	return nil
}

// TestFlush wants flushed increments to become visible with their step, under ASP at once, and a sibling's never before.
func TestFlush(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		inBubble(t, 2, func(t *testing.T, c *cluster) {
			c.run(1, bound, func(ctx context.Context, p *ps.Client, _ int) error {
				if err := p.Create(ctx, "", meta("m", 1, 80, matrix.RowDense)); err != nil {
					return err
				}
				for i := range 3 {
					if err := errors.Join(p.Push("m", digit(0)), p.Flush(ctx)); err != nil {
						return err
					}
					got, err := steps(ctx, p, 1)
					if want := map[ssp.Bound]int{ssp.ASP: i + 1}[bound]; err != nil || got[0] != want {
						return fmt.Errorf("%v: after %d flushes it sees %v, %v, want %d", bound, i+1, got, err, want)
					}
				}
				if err := p.SyncClock(ctx); err != nil {
					return err
				}
				if got, err := steps(ctx, p, 1); err != nil || got[0] != 3 {
					return fmt.Errorf("%v: after the clock it sees %v, %v", bound, got, err)
				}
				return nil
			})
		})
	}
}

// TestGoneTask wants everybody who waits for a task that went away to hear of it, by name, and the job's name to be free
// again when all have gone.
func TestGoneTask(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		dial := func(task int) *ps.Client {
			p, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: task, Tasks: 2})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		stays, goes := dial(0), dial(1)
		for _, p := range []*ps.Client{stays, goes} {
			if err := p.Create(ctx, "", meta("m", 1, 80, matrix.RowDense)); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(time.Second, func() { goes.Close() })
		if err := stays.SyncClock(ctx); err != nil {
			t.Fatal(err)
		}
		_, err := steps(ctx, stays, 1)
		if !errors.Is(err, rpc.ErrAborted) || !strings.Contains(err.Error(), "task 1 at ") {
			t.Errorf("who waits is told %v", err)
		}
		if err := stays.SyncClock(ctx); !errors.Is(err, rpc.ErrAborted) {
			t.Errorf("the next push is told %v", err)
		}
		if err := stays.Barrier(ctx); !errors.Is(err, rpc.ErrAborted) {
			t.Errorf("a barrier is told %v", err)
		}
		stays.Close()
		synctest.Wait()
		for task := range 2 {
			p := dial(task)
			defer p.Close()
		}
	})
}

// TestConflicts wants a task that is there already, and another idea of the job, refused without harm to the job.
func TestConflicts(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		ctx := t.Context()
		o := ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: 0, Tasks: 2}
		p, err := ps.Dial(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for name, change := range map[string]func(o *ps.Options){
			"same task": func(*ps.Options) {},
			"tasks":     func(o *ps.Options) { o.Task, o.Tasks = 1, 3 },
			"bound":     func(o *ps.Options) { o.Task, o.Bound = 1, 2 },
			"beyond":    func(o *ps.Options) { o.Task = 2 },
		} {
			other := o
			change(&other)
			if _, err := ps.Dial(ctx, other); !errors.Is(err, rpc.ErrRefused) && !errors.Is(err, rpc.ErrMalformed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		synctest.Wait()
		if err := p.Create(ctx, "", meta("m", 1, 80, matrix.RowDense)); err != nil {
			t.Errorf("the job came to harm: %v", err)
		}
		if err := p.Create(ctx, "", meta("m", 2, 80, matrix.RowDense)); !errors.Is(err, rpc.ErrExists) {
			t.Errorf("another matrix of the same name: %v", err)
		}
	})
}

// TestGivenUp wants a pull that waits to end with its context, and the task to go on afterwards.
func TestGivenUp(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, c *cluster) {
		c.run(2, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
			if err := p.Create(ctx, "", meta("m", 1, 80, matrix.RowDense)); err != nil {
				return err
			}
			if task == 1 {
				time.Sleep(time.Hour)
				return errors.Join(p.Push("m", digit(1)), p.SyncClock(ctx))
			}
			if err := errors.Join(p.Push("m", digit(0)), p.SyncClock(ctx)); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if _, err := steps(short, p, 2); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("a pull that waits beyond its time: %v", err)
			}
			got, err := steps(ctx, p, 2)
			if err == nil && !slices.Equal(got, []int{1, 1}) {
				err = fmt.Errorf("then it sees %v", got)
			}
			return err
		})
	})
}

// TestRefusedPush wants the pull after a push that the server refused to end with the push's error, not to wait for ever.
func TestRefusedPush(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	p, err := ps.Dial(t.Context(), ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Tasks: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m := meta("m", 1, 80, matrix.RowDense)
	if err := p.Create(t.Context(), "", m); err != nil {
		t.Fatal(err)
	}
	bad := matrix.NewDense(matrix.F64, m.Rect())
	bad.Data.Values().([]float64)[70] = math.NaN()
	if err := p.Push("m", bad); err != nil {
		t.Fatal(err)
	}
	if err := p.Clock(t.Context(), 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := steps(t.Context(), p, 1); !errors.Is(err, rpc.ErrRefused) {
		t.Errorf("pull after a refused push: %v, want %v", err, rpc.ErrRefused)
	}
}

// TestAverage (T1) wants the increments of four tasks to count as their mean.
func TestAverage(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	c.run(4, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
		model := ps.NewModel("m", 1, 80)
		model.SetAverage(true)
		if _, err := p.CreateModels(ctx, model); err != nil {
			return err
		}
		if err := errors.Join(p.Push("m", digit(0)), p.SyncClock(ctx)); err != nil {
			return err
		}
		got, err := steps(ctx, p, 1)
		if err == nil && got[0] != 1 {
			err = fmt.Errorf("four tasks added 1 and it is %v, want 1", got[0])
		}
		return err
	})
}
