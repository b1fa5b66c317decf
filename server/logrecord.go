package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"thole.example/rpc"
	"thole.example/ssp"
)

// The kinds of records. Numbers are part of the format (docs/format/journal.md).
const (
	recordBegin   = 1 + iota // the job: its name, as JSON
	recordJoin               // a task has joined or come back: [rpc.Join] as JSON
	recordCreate             // matrices were made
	recordDefine             // a function was defined
	recordChange             // a change was executed, or one that takes long begun
	recordRefused            // a change was refused when it had its turn: [outcome] as JSON
	recordRan                // what came of a change that takes long, or of an update if that is an error: [outcome]
	recordUpdate             // an update of somebody who is no task
	recordMake               // columns were made for whoever asked for them
	recordLeave              // a task has left
	recordGivenUp            // an optional task was given up: [outcome]
	recordFailed             // the job has failed: [outcome]
	recordTarget             // a path is the job's to save to: [loggedTarget]
)

// outcome is what a record as JSON says of a task or its change.
type outcome struct {
	Task  int    `json:"task"`
	Seq   uint64 `json:"seq,omitempty"`
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`  // of the error, in package rpc
	Found string `json:"found,omitempty"` // what a load has read: the state of its path
	// NonFinite is the number of the matrix for which a push with values that are not finite was refused.
	NonFinite uint32 `json:"nonfinite,omitempty"`
}

// append appends a record; memory, which is the log's from now on, is what the slices lie in.
func (l *jobLog) append(kind uint32, body [][]byte, memory *rpc.Buffer) {
	end, err := l.log.Append(context.Background(), body, kind)
	if err != nil && !l.handOver(&logError{l.name, err}) {
		l.fail(&logError{l.name, err})
	}
	if err != nil || memory == nil || !l.wait(&waiting{position: end, memory: memory}) {
		memory.Release()
	}
}

// silent reports whether nothing is to be appended.
func (l *jobLog) silent() bool { return l == nil || l.replays.Load() }

// json appends a record that is a value as JSON.
func (l *jobLog) json(kind uint32, v any) {
	if l.silent() {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		l.fail(err)
		return
	}
	l.append(kind, [][]byte{text}, nil)
}

// requestHead is how many bytes are before the request in a record of one: the number of the task, and zeros.
const requestHead = 8

// request appends a record of a request of a task, -1 for nobody's, with those of its parts that keep picks.
func (l *jobLog) request(kind uint32, task int, q *rpc.Request, memory *rpc.Buffer, keep func(p *rpc.Part) bool) {
	if l.silent() {
		memory.Release()
		return
	}
	some := *q
	if slices.ContainsFunc(q.Parts, func(p rpc.Part) bool { return !keep(&p) }) {
		some.Parts = nil
		for i := range q.Parts {
			if keep(&q.Parts[i]) {
				some.Parts = append(some.Parts, q.Parts[i])
			}
		}
	}
	var g rpc.Gather
	g.U32(uint32(int32(task)))
	g.U32(0)
	if err := some.Append(&g); err != nil {
		l.fail(err)
		memory.Release()
		return
	}
	l.append(kind, g.Buffers(nil), memory)
}

// changes picks the parts of a change that change something.
func changes(q *rpc.Request) func(*rpc.Part) bool {
	if q.Op == rpc.OpUpdate {
		return func(*rpc.Part) bool { return true } // they name its matrices
	}
	return func(p *rpc.Part) bool { return p.Values != nil }
}

// made says in the log that a change has its turn.
func (j *job) made(e ssp.Made[*request]) {
	q := e.Req
	switch {
	case j.log == nil:
	case e.Err != nil:
		j.log.json(recordRefused, newOutcome(e.Task, e.Seq, e.Err))
	case q.record != nil:
		memory := q.memory
		q.memory = nil
		j.log.request(recordChange, e.Task, q.record, memory, changes(q.record))
	}
}

// toLog has the request, as it is now, be what the log says of a change when it has its turn.
func (q *request) toLog(j *job) {
	if j.log != nil {
		q.record, q.memory = q.x.Request, q.x.Memory.Retain()
	}
}

// ranBeside appends what came of a change that runs beside the mailbox, if it is an error: otherwise it is what it was when it began.
func (j *job) ranBeside(task int, seq uint64, err error) {
	if err != nil {
		j.log.json(recordRan, newOutcome(task, seq, err))
	}
}

// newOutcome is an error of a task's change, as a record has it.
func newOutcome(task int, seq uint64, err error) outcome {
	o := outcome{Task: task, Seq: seq, Error: err.Error()}
	if kind := rpc.NewFault("", refusal(err)).Kind; kind != nil {
		o.Kind = kind.Error()
	}
	if n, ok := errors.AsType[*nonFinite](err); ok {
		o.NonFinite = n.of.number
	}
	return o
}

// asksMade reports whether columns of the part that are not there are to be made.
func asksMade(p rpc.Part) bool { return p.Values == nil && p.Make }

// logMakes says in the log that columns are made for what the request reads, which is to be posted now.
func (j *job) logMakes(q *request) {
	if q.makes {
		q.gather.log = j.log // whoever knows of them finds them
		j.log.request(recordMake, -1, q.x.Request, q.x.Memory.Retain(), func(p *rpc.Part) bool { return asksMade(*p) })
	}
}
