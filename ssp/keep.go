package ssp

import "fmt"

// Keep asks for a checkpoint, as somebody is about to end who is needed; the job stays where it is. Who asks is none of its tasks, and
// may give up by a Cancel. It is answered when the task that writes checkpoints has written one after it heard of the order, and at once
// when there is one of that kind after which no step was made by all.
type Keep[R any] struct{ Req R }

func (Keep[R]) event() {}

func (j *Job[D, R]) keep(e *Keep[R]) {
	switch o := j.order; {
	case j.failed != nil:
		j.refuse(e.Req, j.failed)
	case j.attempt > 0 && j.Slowest(0) <= j.kept, o != nil && o.done:
		j.answer(e.Req, false)
	case o != nil: // the one that is to be written is late enough: whoever writes it makes no step meanwhile
		o.reqs = append(o.reqs, e.Req)
	case len(j.awaiting) == 0:
		j.refuse(e.Req, fmt.Errorf("job %q writes no checkpoint now: none of its tasks writes any, or it has just begun, or it is at its end: %w",
			j.name, NotFound))
	default:
		j.give(e.Req, nil, "is asked for a checkpoint")
	}
}
