package state

import "slices"

// Note writes bytes of the caller's own, between records or beside the job.
func (w *Writer) Note(text []byte) error { return w.frame(kindNote, text) }

// Note reads what Note has written; it is the caller's.
func (r *Reader) Note() ([]byte, error) {
	begin := r.off
	k, body, _, err := r.next("note")
	if err == nil && k != kindNote {
		err = at(begin, "frame of %v, want %v", k, kindNote)
	}
	return slices.Clone(body), err
}
