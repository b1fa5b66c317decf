package feature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"thole.example/wire"
)

// Part is some rows of an open plan: their values by field, in as few bytes as it takes, until it is known what ids levels have.
type Part struct {
	Rows   int
	fields []stored
	done   func()
	plan   *Plan  // of a survey; nil: it is none
	spans  []span // then, by column of times
}

// stored is the values of a field: a code for each level, a bucket of a hash, or a number, which is no number where it is missing.
type stored struct {
	code  []int32
	wide  []int64
	value numbers
	end   []int32 // where those of each row end; nil: each has one
}

// Bytes is how many bytes the values take.
func (p *Part) Bytes() (n int) {
	for i := range p.fields {
		s := &p.fields[i]
		n += len(wire.View(s.wide)) + len(wire.View(s.code)) + s.value.bytes() + len(wire.View(s.end))
	}
	return n
}

// Move moves the values of a part, to which no rows are added any more, into memory of Bytes or more, which begins at a multiple of 8.
// done is called whenever the values have been gone over, by any goroutine, while others may still be at it.
func (p *Part) Move(to []byte, done func()) {
	for i := range p.fields { // the widest first, so that all begin at a multiple of their size
		p.fields[i].wide, to = moved(p.fields[i].wide, to)
		p.fields[i].value.double, to = moved(p.fields[i].value.double, to)
	}
	for i := range p.fields {
		s := &p.fields[i]
		s.code, to = moved(s.code, to)
		s.value.single, to = moved(s.value.single, to)
		s.end, to = moved(s.end, to)
	}
	p.done = done
	p.Done()
}

// Done says that the values have been gone over, and are not needed soon.
func (p *Part) Done() {
	if p.done != nil {
		p.done()
	}
}

// moved is the values in memory, and what is left of that.
func moved[T wire.Number](v []T, to []byte) ([]T, []byte) {
	if v == nil {
		return nil, to
	}
	n := copy(to, wire.View(v))
	moved, _ := wire.Numbers[T](to[:n]) // it is aligned
	if moved == nil {
		moved = []T{}
	}
	return moved, to[n:]
}

// Keep adds the rows of the encoder's block that are of use to a part.
func (e *Encoder) Keep(p *Part) {
	if p.fields == nil {
		p.fields = make([]stored, len(e.Fields))
	}
	if e.plan.surveyed {
		e.keepTimes(p)
	}
	for i := range e.Fields {
		v, s, f := &e.Fields[i], &p.fields[i], &e.plan.fields[i]
		if e.Faults == 0 && v.End == nil {
			s.keep(f, v, 0, len(v.ID))
			continue
		}
		from := 0
		for k := range e.rows {
			end := k + 1
			if v.End != nil {
				end = int(v.End[k])
			}
			if e.Bad[k] == nil {
				s.keep(f, v, from, end)
				if len(v.End) > 0 {
					s.end = append(s.end, int32(len(s.code)))
				}
			}
			from = end
		}
	}
	p.Rows += e.rows - e.Faults
}

// keep adds the values lo to hi of a field.
func (s *stored) keep(f *field, v *Values, lo, hi int) {
	id := v.ID[lo:hi]
	switch {
	case f.kind == Hash:
		s.wide = append(s.wide, id...)
	case f.isNumber():
		for k, x := range v.Exact[lo:hi] {
			if id[k] == isMissing {
				x = math.NaN()
			}
			s.value.add(x)
		}
	default:
		n := len(s.code)
		s.code = slices.Grow(s.code, len(id))[:n+len(id)]
		for k, x := range id {
			s.code[n+k] = int32(x)
		}
	}
}

// Reserve makes room for about as many rows more: those of a text of which the rows that there are take a share.
func (p *Part) Reserve(share float64) {
	more := int(float64(p.Rows) * (1/share - 1) * 17 / 16)
	for i := range p.fields {
		s := &p.fields[i]
		if s.value.grow(more); s.end != nil {
			continue // how many values there will be is not known
		}
		s.code, s.wide = grown(s.code, more), grown(s.wide, more)
	}
}

// grown has room for more, if there is something.
func grown[T any](s []T, more int) []T {
	if s == nil {
		return nil
	}
	return slices.Grow(s, more)
}

// isNumber reports whether values of the field are numbers before they are finished.
func (f *field) isNumber() bool {
	return f.kind == Numeric || f.kind == Buckets && f.part == nil
}

// values are those of a field of the rows lo to hi as an encoder has them.
func (p *Part) values(i int, f *field, lo, hi int, to *Values) {
	s := &p.fields[i]
	to.clear()
	from, end := lo, hi
	if s.end != nil {
		if from = 0; lo > 0 {
			from = int(s.end[lo-1])
		}
		end = from
		for _, e := range s.end[lo:hi] {
			for range int(e) - end {
				to.Value = append(to.Value, 1/float32(int(e)-end))
			}
			end = int(e)
			to.End = append(to.End, e-int32(from))
		}
	}
	switch {
	case f.kind == Hash:
		to.ID = append(to.ID, s.wide[from:end]...)
	case f.isNumber():
		to.exact(end - from)
		s.value.copyTo(to.Exact, from)
		for k, x := range to.Exact {
			if to.ID[k] = isThere; x != x {
				to.ID[k], to.Exact[k] = isMissing, 1
			}
		}
		return
	default:
		codes := s.code[from:end]
		to.ID = slices.Grow(to.ID, len(codes))[:len(codes)]
		for k, c := range codes {
			to.ID[k] = int64(c)
		}
	}
	for len(to.Value) < len(to.ID) {
		to.Value = append(to.Value, 1)
	}
}

// Texts are levels. In JSON one that is no UTF-8 is an object with its bytes, {"bytes": "base64"}.
type Texts []string

type bytesOf struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (t Texts) MarshalJSON() ([]byte, error) {
	all := make([]any, len(t))
	for i, text := range t {
		if all[i] = text; !utf8.ValidString(text) {
			all[i] = bytesOf{[]byte(text)}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	err := e.Encode(all)
	return b.Bytes(), err
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Texts) UnmarshalJSON(src []byte) error {
	var all []json.RawMessage
	if err := json.Unmarshal(src, &all); err != nil {
		return err
	}
	*t = make(Texts, len(all))
	for i, one := range all {
		if json.Unmarshal(one, &(*t)[i]) == nil {
			continue
		}
		var b bytesOf
		if err := json.Unmarshal(one, &b); err != nil {
			return fmt.Errorf("level %d: %w", i, err)
		}
		(*t)[i] = string(b.Bytes)
	}
	return nil
}
