package onnx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"thole.example/format"
)

// models are files of the three kinds: with parameters within, with keys, with parameters beside.
func models(t *testing.T) (all [][]byte) {
	t.Helper()
	for _, o := range []Options{{Rows: 3, Meta: map[string]string{"a": "b"}}, {Rows: 3, Keys: []int64{5, 7}}, {}} {
		p, src := tables(t)
		m, err := New(p, src, o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Rows == 0 {
			m.Apart("w.data")
		}
		var buf bytes.Buffer
		if err := m.Write(context.Background(), &buf, nil); err != nil {
			t.Fatal(err)
		}
		all = append(all, buf.Bytes())
	}
	return all
}

// TestRead: what is written is read.
func TestRead(t *testing.T) {
	const ends = `"inputs":[{"name":"ids","type":"int64","dims":["batch","fields"]},{"name":"vals","type":"float32","dims":["batch","fields"]}],` +
		`"outputs":[{"name":"prediction","type":"float32","dims":["batch","fields","2"]},` +
		`{"name":"score","type":"float32","dims":["batch","fields","2"]}],`
	for i, want := range []string{
		`{"irVersion":7,"producer":"thole","operatorSets":[{"domain":"","version":13}],` + ends +
			`"nodes":8,"operators":{"And":1,"Gather":1,"GreaterOrEqual":1,"Identity":1,"Less":1,"Mul":1,"Where":2},"initializers":[` +
			`{"name":"w","type":"float32","dims":[3,2],"bytes":24},{"name":"integer_1","type":"int64","dims":null,"bytes":8},` +
			`{"name":"integer_3","type":"int64","dims":null,"bytes":8},{"name":"number_7","type":"float32","dims":null,"bytes":4}],` +
			`"metadata":{"a":"b"}}`,
		`{"irVersion":7,"producer":"thole","operatorSets":[{"domain":"","version":13},{"domain":"ai.onnx.ml","version":2}],` + ends +
			`"nodes":4,"operators":{"Gather":1,"Identity":1,"Mul":1,"ai.onnx.ml.LabelEncoder":1},"initializers":[` +
			`{"name":"w","type":"float32","dims":[3,2],"bytes":24}]}`,
		`{"irVersion":7,"producer":"thole","operatorSets":[{"domain":"","version":13}],` + ends +
			`"nodes":3,"operators":{"Gather":1,"Identity":1,"Mul":1},"initializers":[` +
			`{"name":"w","type":"float32","dims":[3,2],"bytes":24,"file":"w.data"}]}`,
	} {
		data := models(t)[i]
		s, err := Read("m.onnx", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(s); string(got) != want {
			t.Errorf("model %d:\n%s, want\n%s", i, got, want)
		}
	}
}

// TestReadDamaged: what is wrong is said, with the byte.
func TestReadDamaged(t *testing.T) {
	graph := func(fields ...byte) []byte {
		return append([]byte{1<<3 | 0, 7, 8<<3 | 2, 2, 2<<3 | 0, 13, 7<<3 | 2, byte(len(fields))}, fields...)
	}
	many := bytes.Repeat([]byte{12<<3 | 2, 0}, itemLimit+1)
	for _, c := range []struct {
		data []byte
		want string
		is   error
	}{
		{nil, "0 graphs, ir_version 0, 0 sets of operators", format.ErrCorrupt},
		{graph()[:6], "0 graphs", format.ErrCorrupt},
		{[]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "field 7 of 18446744073709551615 bytes, and 0", format.ErrCorrupt},
		{[]byte{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, "more than 64 bits", format.ErrCorrupt},
		{[]byte{0x08}, "a number has no end", format.ErrCorrupt},
		{[]byte{0x03}, "field 0, want 1", format.ErrCorrupt},
		{[]byte{0x0b}, "wire type 3, want 0, 1, 2 or 5", format.ErrCorrupt},
		{[]byte{0x10, 1}, "want 2, a text", format.ErrCorrupt},
		{[]byte{0x0a, 0}, "want 0, an integer", format.ErrCorrupt},
		{[]byte{0x38, 1}, "want 2, a GraphProto", format.ErrCorrupt},
		{graph(append([]byte{5<<3 | 2, 67, 1<<3 | 2, 65}, make([]byte, 65)...)...), "more than 64 dimensions", format.ErrLimit},
		{graph(5<<3|2, 14, 13<<3|2, 12, 1<<3|2, 6, 'l', 'e', 'n', 'g', 't', 'h', 2<<3|2, 2, '-', '1'), `length "-1"`, format.ErrCorrupt},
		{append([]byte{7<<3 | 2, 0x82, 0x80, 0x08}, many...), "more than 65536 inputs", format.ErrLimit},
	} {
		_, err := Read("x.onnx", bytes.NewReader(c.data), int64(len(c.data)))
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.onnx") {
			t.Errorf("%.20x: %v, want %q", c.data, err, c.want)
		}
	}
}

// FuzzRead: damaged files are refused, or read, and nothing else happens.
func FuzzRead(f *testing.F) {
	for _, data := range models(&testing.T{}) {
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read("x", bytes.NewReader(data), int64(len(data)))
		switch {
		case err == nil && (s.Nodes > int64(len(data)) || len(s.Initializers) > len(data)):
			t.Errorf("%d nodes and %d initializers in %d bytes", s.Nodes, len(s.Initializers), len(data))
		case err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrLimit):
			t.Errorf("%v, want that it is damaged or too large", err)
		}
	})
}
