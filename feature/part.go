package feature

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// Part is some rows of an open plan: their values by field, in as few bytes as it takes, until it is known what ids levels have.
type Part struct {
	Rows   int
	fields []stored
}

// stored is the values of a field: a code for each level, a bucket of a hash, or a number, which is no number where it is missing.
type stored struct {
	code  []int32
	wide  []int64
	value []float32
	end   []int32 // where those of each row end; nil: each has one
}

// Keep adds the rows of the encoder's block that are of use to a part.
func (e *Encoder) Keep(p *Part) {
	if p.fields == nil {
		p.fields = make([]stored, len(e.Fields))
	}
	for i := range e.Fields {
		v, s, f := &e.Fields[i], &p.fields[i], &e.plan.fields[i]
		from := 0
		for k := range e.rows {
			end := k + 1
			if v.End != nil {
				end = int(v.End[k])
			}
			if e.Bad[k] == nil {
				s.keep(f, v.ID[from:end], v.Value[from:end])
				if len(v.End) > 0 {
					s.end = append(s.end, int32(len(s.code)))
				}
			}
			from = end
		}
	}
	p.Rows += e.rows - e.Faults
}

func (s *stored) keep(f *field, id []int64, value []float32) {
	for k, x := range id {
		switch {
		case f.kind == Hash:
			s.wide = append(s.wide, x)
		case f.isNumber() && x == isMissing:
			s.value = append(s.value, float32(math.NaN()))
		case f.isNumber():
			s.value = append(s.value, value[k])
		default:
			s.code = append(s.code, int32(x))
		}
	}
}

// isNumber reports whether values of the field are numbers before they are finished.
func (f *field) isNumber() bool {
	return f.kind == Numeric || f.kind == Buckets && f.part == nil
}

// values are those of a field of the rows lo to hi as an encoder has them.
func (p *Part) values(i int, f *field, lo, hi int, to *Values) {
	s := &p.fields[i]
	to.ID, to.Value, to.End = to.ID[:0], to.Value[:0], to.End[:0]
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
		for _, x := range s.value[from:end] {
			if x != x {
				to.ID, to.Value = append(to.ID, isMissing), append(to.Value, 1)
			} else {
				to.ID, to.Value = append(to.ID, isThere), append(to.Value, x)
			}
		}
		return
	default:
		for _, c := range s.code[from:end] {
			to.ID = append(to.ID, int64(c))
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
	return json.Marshal(all)
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
