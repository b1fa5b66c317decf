package state

import (
	"fmt"
	"time"

	"thole.example/matrix"
	"thole.example/ssp"
	"thole.example/wire"
)

// Delta is a delta that is not yet due, as plain values. With Keys it has columns, in any order: the values of the rows of
// Keys[0], those of Keys[1], and so on. Without (nil) it has every cell of Rows x Cols, row after row.
type Delta struct {
	Rows, Cols matrix.Range
	Keys       []int64
	DType      matrix.DType
	Values     []byte // numbers in the order of this machine's bytes
	Assign     bool   // cells become the values
	Func       bool   // an update function instead, whose text the values are: bytes in one row
}

// What follows is ssp.State as it is written; its fields are described there.
type jobJSON struct {
	Name     string       `json:"name"`
	Tasks    int          `json:"tasks"`
	Bound    ssp.Bound    `json:"bound"`
	Plan     string       `json:"plan,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Refusals int          `json:"refusals,omitempty"`
	Reason   *failureJSON `json:"reason,omitempty"`
	Failed   *failureJSON `json:"failed,omitempty"`
	Members  []memberJSON `json:"members"`
	Matrices []seriesJSON `json:"matrices"`
}

type failureJSON struct {
	Seq  uint64 `json:"seq,omitempty"`
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

type memberJSON struct {
	Task     int           `json:"task"`
	Worker   string        `json:"worker,omitempty"`
	Status   uint8         `json:"status"`
	Name     string        `json:"name,omitempty"`
	Client   string        `json:"client,omitempty"`
	Epoch    int           `json:"epoch,omitempty"`
	Grace    int64         `json:"grace,omitempty"` // nanoseconds
	Lease    int64         `json:"lease,omitempty"`
	Optional bool          `json:"optional,omitempty"`
	Altered  bool          `json:"altered,omitempty"`
	Last     uint64        `json:"last"`
	Refused  []failureJSON `json:"refused,omitempty"`
}

type seriesJSON struct {
	ID     int          `json:"id"`
	Name   string       `json:"name"`
	Own    bool         `json:"own,omitempty"`
	Bound  ssp.Bound    `json:"bound"`
	Rule   bool         `json:"rule,omitempty"`
	Clocks []int        `json:"clocks"`
	Staged []stagedJSON `json:"staged,omitempty"`
}

type stagedJSON struct {
	Clock  int        `json:"clock"`
	Task   int        `json:"task"`
	Tick   bool       `json:"tick,omitempty"`
	Weight float64    `json:"weight,omitempty"`
	Rate   float64    `json:"rate,omitempty"`
	Delta  *deltaJSON `json:"delta,omitempty"`
	// Weightless says that it is no gradient.
	Weightless bool `json:"weightless,omitempty"`
}

type deltaJSON struct {
	Rows [2]int64 `json:"rows"`
	Cols [2]int64 `json:"cols"`
	Type string   `json:"type"`
	Keys bool     `json:"keys,omitempty"`
	Func bool     `json:"func,omitempty"`
	// Assign says that cells become the values.
	Assign bool `json:"assign,omitempty"`
}

// Job writes the state of a job. lend calls its function with a delta as plain values, which stay there until that returns;
// it is called twice for each: for what is known of it, and for its values, which may be missing the first time.
func Job[D any](w *Writer, s *ssp.State[D], lend func(d D, values bool, f func(Delta) error) error) error {
	j := jobJSON{
		Name: s.Name, Tasks: s.Tasks, Bound: s.Bound, Plan: s.Plan, Attempt: s.Attempt, Refusals: s.Refusals,
		Reason: failureOf(s.Reason), Failed: failureOf(s.Failed),
	}
	for i := range s.Members {
		j.Members = append(j.Members, memberOf(&s.Members[i]))
	}
	for i := range s.Matrices {
		m := &s.Matrices[i]
		out := seriesJSON{ID: m.ID, Name: m.Name, Own: m.Own, Bound: m.Bound, Rule: m.Rule, Clocks: m.Clocks}
		for _, e := range m.Staged {
			one := stagedJSON{Clock: e.Clock, Task: e.Task, Tick: e.Tick, Weight: e.Weight, Rate: e.Rate, Weightless: e.Weightless}
			if !e.Tick {
				if err := lend(e.Delta, false, func(d Delta) error { one.Delta = deltaOf(&d); return nil }); err != nil {
					return err
				}
			}
			out.Staged = append(out.Staged, one)
		}
		j.Matrices = append(j.Matrices, out)
	}
	if err := w.json(kindJob, j); err != nil {
		return err
	}
	for i := range s.Matrices {
		for _, e := range s.Matrices[i].Staged {
			if e.Tick {
				continue
			}
			if err := lend(e.Delta, true, w.delta); err != nil {
				return err
			}
		}
	}
	return nil
}

func deltaOf(d *Delta) *deltaJSON {
	return &deltaJSON{
		Rows: [2]int64{d.Rows.Lo, d.Rows.Hi}, Cols: [2]int64{d.Cols.Lo, d.Cols.Hi}, Type: d.DType.String(), Keys: d.Keys != nil, Func: d.Func,
		Assign: d.Assign,
	}
}

// place is where the block of a delta's values lies.
func (d *Delta) place() matrix.Rect {
	if d.Keys != nil {
		return matrix.At(0, int64(len(d.Keys)), 0, d.Rows.Len())
	}
	return matrix.Rect{Rows: d.Rows, Cols: d.Cols}
}

func (w *Writer) delta(d Delta) error {
	place := d.place()
	n, ok := place.Cells()
	if size := int64(d.DType.Size()); !ok || size == 0 || n != int64(len(d.Values))/size || n*size != int64(len(d.Values)) {
		return fmt.Errorf("delta at %v with %d keys has %d bytes of %v", place, len(d.Keys), len(d.Values), d.DType)
	}
	b := matrix.NewDense(d.DType, place)
	into, _ := wire.ViewAny(b.Data.Values())
	copy(into, d.Values)
	if d.Keys != nil {
		return w.blocks(kindDelta, keyBlock(d.Keys), b)
	}
	return w.blocks(kindDelta, b)
}

func failureOf(f *ssp.Failure) *failureJSON {
	if f == nil {
		return nil
	}
	return &failureJSON{f.Seq, string(f.Kind), f.Text}
}

func (f *failureJSON) failure() *ssp.Failure {
	if f == nil {
		return nil
	}
	return &ssp.Failure{Seq: f.Seq, Kind: ssp.Kind(f.Kind), Text: f.Text}
}

func memberOf(m *ssp.MemberState) memberJSON {
	out := memberJSON{
		Task: m.Task, Worker: m.Worker, Status: uint8(m.Status), Name: m.Name, Client: m.Client, Epoch: m.Epoch,
		Grace: int64(m.Grace), Lease: int64(m.Lease), Optional: m.Optional, Altered: m.Altered, Last: m.Last,
	}
	for i := range m.Refused {
		out.Refused = append(out.Refused, *failureOf(&m.Refused[i]))
	}
	return out
}

func (m *memberJSON) member() ssp.MemberState {
	out := ssp.MemberState{
		Task: m.Task, Worker: m.Worker, Status: ssp.Status(m.Status), Name: m.Name, Client: m.Client, Epoch: m.Epoch,
		Grace: time.Duration(m.Grace), Lease: time.Duration(m.Lease), Optional: m.Optional, Altered: m.Altered, Last: m.Last,
	}
	for i := range m.Refused {
		out.Refused = append(out.Refused, *m.Refused[i].failure())
	}
	return out
}

// Job reads the state of a job. What cannot be of clocks and members is for ssp.FromState to find.
func (r *Reader) Job() (*ssp.State[Delta], error) {
	var j jobJSON
	off, err := r.json(kindJob, &j)
	if err != nil {
		return nil, err
	}
	s := &ssp.State[Delta]{
		Name: j.Name, Tasks: j.Tasks, Bound: j.Bound, Plan: j.Plan, Attempt: j.Attempt, Refusals: j.Refusals,
		Reason: j.Reason.failure(), Failed: j.Failed.failure(),
	}
	for i := range j.Members {
		s.Members = append(s.Members, j.Members[i].member())
	}
	for i := range j.Matrices {
		m := &j.Matrices[i]
		out := ssp.MatrixState[Delta]{
			Matrix: ssp.Matrix{ID: m.ID, Name: m.Name, Own: m.Own, Bound: m.Bound, Rule: m.Rule}, Clocks: m.Clocks,
		}
		for _, e := range m.Staged {
			one := ssp.Staged[Delta]{Clock: e.Clock, Task: e.Task, Tick: e.Tick, Weight: e.Weight, Rate: e.Rate, Weightless: e.Weightless}
			if e.Tick != (e.Delta == nil) {
				return nil, at(off, "what is staged of task %d in matrix %q is neither a tick nor a delta, or both", e.Task, m.Name)
			}
			if !e.Tick {
				if one.Delta, err = r.delta(e.Delta, off); err != nil {
					return nil, err
				}
			}
			out.Staged = append(out.Staged, one)
		}
		s.Matrices = append(s.Matrices, out)
	}
	return s, nil
}

// delta reads the values of a delta that the job's frame at the byte job tells of.
func (r *Reader) delta(j *deltaJSON, job int64) (d Delta, err error) {
	d = Delta{Func: j.Func, Assign: j.Assign}
	d.Rows, d.Cols = matrix.Range{Lo: j.Rows[0], Hi: j.Rows[1]}, matrix.Range{Lo: j.Cols[0], Hi: j.Cols[1]}
	if d.DType, err = typeOf(j.Type); err == nil && (d.Rows.Hi < d.Rows.Lo || d.Cols.Hi < d.Cols.Lo) {
		err = fmt.Errorf("delta at rows %v x cols %v, want ranges that ascend", d.Rows, d.Cols)
	}
	if err == nil && j.Func && (j.Keys || d.DType != matrix.U8 || d.Rows.Len() != 1) {
		err = fmt.Errorf("a function of rows %v of %v, want one row of u8", d.Rows, d.DType)
	}
	if err != nil {
		return d, at(job, "%w", err)
	}
	begin := r.off
	k, body, off, err := r.next("delta")
	if err == nil && k != kindDelta {
		err = at(begin, "frame of %v, want %v", k, kindDelta)
	}
	if err != nil {
		return d, err
	}
	c := wire.NewCursor(body, off, wire.Little)
	if j.Keys {
		d.Keys = append([]int64{}, keys(c)...)
	}
	place := d.place()
	b := dense(c, d.DType, &place)
	c.End("the delta")
	if c.Err() != nil {
		return d, c.Err()
	}
	d.Values, _ = wire.ViewAny(b.Clone().Data.Values()) // the frame has others next
	return d, nil
}
