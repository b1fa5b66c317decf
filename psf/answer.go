package psf

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"thole.example/kernel"
)

// Answer is what a get function gives: JSON. Numbers that JSON does not have are the texts "NaN", "+Inf" and "-Inf"; null says
// that there is none, such as the largest of no cells.
type Answer []byte

// Number reads an answer that is one number.
func (a Answer) Number() (float64, error) {
	var x num
	if err := json.Unmarshal(a, &x); err != nil {
		return 0, fmt.Errorf("psf: answer %.60s, want a number", a)
	}
	if string(a) == "null" {
		return 0, fmt.Errorf("psf: no number: there are no cells")
	}
	return float64(x), nil
}

// Decode reads the answer into what v points to, like json.Unmarshal.
func (a Answer) Decode(v any) error { return json.Unmarshal(a, v) }

// String is the JSON.
func (a Answer) String() string { return string(a) }

// answerOf is the answer that is a value.
func answerOf(v any) (Answer, error) {
	text, err := json.Marshal(v)
	return text, err
}

// num is a float64 in JSON, also where JSON has no such number.
type num float64

// MarshalJSON implements json.Marshaler.
func (n num) MarshalJSON() ([]byte, error) {
	v := float64(n)
	switch {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"+Inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Inf"`), nil
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *num) UnmarshalJSON(text []byte) error {
	var s string
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		switch s {
		case "NaN":
			*n = num(math.NaN())
		case "+Inf":
			*n = num(math.Inf(1))
		case "-Inf":
			*n = num(math.Inf(-1))
		default:
			return fmt.Errorf("%q, want a number", s)
		}
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// cell is the value of a cell in JSON: integers whole, whatever their size.
func cell[T kernel.Number](v T) json.RawMessage {
	switch v := any(v).(type) {
	case float64:
		text, _ := num(v).MarshalJSON()
		return text
	case float32:
		if w := float64(v); math.IsNaN(w) || math.IsInf(w, 0) {
			text, _ := num(w).MarshalJSON()
			return text
		}
		return strconv.AppendFloat(nil, float64(v), 'g', -1, 32)
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case int32:
		return strconv.AppendInt(nil, int64(v), 10)
	}
	return json.RawMessage("null")
}

// parseCell reads what cell wrote.
func parseCell[T kernel.Number](text json.RawMessage) (v T, err error) {
	switch to := any(&v).(type) {
	case *float64:
		err = (*num)(to).UnmarshalJSON(text)
	case *float32:
		if narrow, wrong := strconv.ParseFloat(string(text), 32); wrong == nil {
			*to = float32(narrow) // not by way of a float64, which would round twice
			break
		}
		var wide num
		err = wide.UnmarshalJSON(text)
		*to = float32(wide)
	default:
		err = json.Unmarshal(text, to)
	}
	return v, err
}

// narrow is the number as one of the type: rounded to the nearest, ties to even, and the nearest one that there is of an
// integer type. No number becomes 0 there.
func narrow[T kernel.Number](v float64) T {
	var zero T
	var lo float64
	hi := math.Inf(1)
	switch any(zero).(type) {
	case int64:
		if v >= 1<<63 {
			return any(int64(math.MaxInt64)).(T)
		}
		lo = math.MinInt64
	case int32:
		lo, hi = math.MinInt32, math.MaxInt32
	default:
		return T(v)
	}
	if v != v {
		return zero
	}
	return T(min(max(math.RoundToEven(v), lo), hi))
}
