package runlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Names of events, as their lines have them under "event".
const (
	StartEvent = "start"
	EpochEvent = "epoch"
	EndEvent   = "end"
)

// Number is a number that may be none: what is not finite is null in JSON.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return json.Marshal(v)
	}
	return []byte("null"), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	v := math.NaN()
	if string(text) != "null" {
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
	}
	*n = Number(v)
	return nil
}

// Value is a metric.
type Value struct {
	Name  string
	Value float64
}

// Values are metrics in the order in which people read them: in JSON an object in that order.
type Values []Value

// Get is the metric of that name, NaN if there is none.
func (vs Values) Get(name string) float64 {
	for _, v := range vs {
		if v.Name == name {
			return v.Value
		}
	}
	return math.NaN()
}

// MarshalJSON implements json.Marshaler.
func (vs Values) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, v := range vs {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(v.Name) // a string always can be
		value, err := Number(v.Value).MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (vs *Values) UnmarshalJSON(text []byte) error {
	*vs = nil
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("metrics %.20s, want an object of numbers", text)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		v := Number(math.NaN())
		if err := d.Decode(&v); err != nil {
			return err
		}
		*vs = append(*vs, Value{fmt.Sprint(name), float64(v)})
	}
	return nil
}

// Start is the event with which a training begins: what it is about to do.
type Start struct {
	Event    string   `json:"event"` // StartEvent, which Line fills in
	Algo     string   `json:"algo"`
	Data     []string `json:"data"` // as they were given
	Examples int      `json:"examples"`
	HeldOut  int      `json:"heldOut"` // examples that are measured, and not trained on
	Dim      int64    `json:"dim"`
	Tasks    int      `json:"tasks"`
	Bound    string   `json:"bound"`
	Epochs   int      `json:"epochs"` // at most
	Batch    int      `json:"batch"`
	Rate     Number   `json:"rate"`
	Seed     uint64   `json:"seed"`
	Metric   string   `json:"metric,omitempty"` // of the held-out examples, that runs are compared by; "": there are none
	Better   string   `json:"better,omitempty"` // which values of it are: "min" or "max"
}

// Epoch is the event of a pass over the examples.
type Epoch struct {
	Event         string `json:"event"` // EpochEvent
	Epoch         int    `json:"epoch"` // counted from 1
	Loss          Number `json:"loss"`  // mean over the training examples, while the parameters changed
	Rows          int64  `json:"rows"`  // seen since the start
	RowsPerSecond Number `json:"rowsPerSecond"`
	Seconds       Number `json:"seconds"`         // since the start
	Valid         Values `json:"valid,omitempty"` // of the held-out examples, where they are measured after every epoch
	Others        []Set  `json:"others,omitempty"`
}

// Set is the metrics of another set of held-out examples than the one that decides.
type Set struct {
	Name   string `json:"name"`
	Values Values `json:"metrics"`
}

// End is the event of a training that came to its end; one that failed has none.
type End struct {
	Event           string   `json:"event"`   // EndEvent
	Best            int      `json:"best"`    // the epoch that was kept, if the held-out examples chose one; 0: the last one
	Epochs          int      `json:"epochs"`  // that were made
	Stopped         bool     `json:"stopped"` // before all epochs were made
	Train           Values   `json:"train"`   // of the training examples, with the parameters that were kept
	Valid           Values   `json:"valid"`   // of the held-out examples; none if there are none
	Others          []Set    `json:"others,omitempty"`
	Seconds         Number   `json:"seconds"` // since the start
	NullLoss        Number   `json:"nullLoss"`
	NonFinite       int64    `json:"nonFinite"`
	Warnings        []string `json:"warnings"`
	LastChange      *Number  `json:"lastChange,omitempty"`      // by which the last epoch changed the loss
	LastChangeShare *Number  `json:"lastChangeShare,omitempty"` // and as a share of it
	Skipped         any      `json:"skipped,omitempty"`         // lines that were of no use, and were left out
	Unseen          any      `json:"unseen,omitempty"`          // features of the held-out examples that were not in training
}

// Line is the line of an event, without the end of it: a Start, an Epoch or an End, whose name it fills in, or anything else that is an
// object of JSON with its name under "event".
func Line(event any) ([]byte, error) {
	switch e := event.(type) {
	case Start:
		e.Event = StartEvent
		event = e
	case Epoch:
		e.Event = EpochEvent
		event = e
	case End:
		e.Event = EndEvent
		event = e
	}
	return json.Marshal(event)
}
