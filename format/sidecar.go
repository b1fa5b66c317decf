package format

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/matrix"
)

// SidecarExt is what the name of a sidecar has behind the name of its file.
const SidecarExt = ".meta"

// maxSidecar is the longest sidecar that is read, in bytes.
const maxSidecar = 64 << 20

// Sidecar describes a text file from outside: the JSON that DAPHNE asks for in FILE.meta. DAPHNE ignores keys that it
// does not know; what only Thole needs stands below "thole" and in the dtype of a column. Keys are in alphabetical order.
type Sidecar struct {
	NumCols     *int64          `json:"numCols"`
	NumNonZeros *int64          `json:"numNonZeros,omitempty"` // below 0: not known
	NumRows     *int64          `json:"numRows"`
	Schema      []SidecarColumn `json:"schema,omitempty"` // of frames
	Thole       *SidecarOwn     `json:"thole,omitempty"`
	ValueType   string          `json:"valueType,omitempty"` // of matrices
}

// SidecarColumn is a column of a frame.
type SidecarColumn struct {
	DType     string `json:"dtype,omitempty"` // where valueType cannot say it
	Label     string `json:"label"`
	ValueType string `json:"valueType"`
}

// SidecarOwn is what DAPHNE has no key for. That it is there says that Thole wrote the file.
type SidecarOwn struct {
	Dialect string   `json:"dialect,omitempty"` // daphne: the layout
	Dims    []int64  `json:"dims,omitzero"`     // of a tensor or a vector; an empty list of a scalar
	DType   string   `json:"dtype,omitempty"`   // where valueType cannot say it
	First   int64    `json:"first,omitempty"`   // daphne: the first column
	Header  bool     `json:"header,omitempty"`  // the file begins with the labels
	Labels  string   `json:"labels,omitempty"`  // libsvm: element type of the labels, if they are a matrix
	Length  int64    `json:"length,omitempty"`  // daphne: of the file, in bytes
	Made    bool     `json:"made,omitempty"`    // the labels of the schema stand for none
	Names   []string `json:"names,omitempty"`   // libsvm: of the labels and the features; daphne: of the columns of a sparse matrix
	Sums    []uint32 `json:"sums,omitempty"`    // daphne: CRC-32 of the header and of each block
	Zero    bool     `json:"zero,omitempty"`    // libsvm: indices count from 0
}

var valueTypes = map[matrix.DType]string{
	matrix.U8: "ui8", matrix.U32: "ui32", matrix.U64: "ui64",
	matrix.I8: "si8", matrix.I32: "si32", matrix.I64: "si64", matrix.F32: "f32", matrix.F64: "f64",
	// DAPHNE has no such types: it is told one that holds every value.
	matrix.U16: "ui32", matrix.I16: "si32", matrix.Bool: "ui8", matrix.F16: "f32", matrix.BF16: "f32",
}

var valueDTypes = map[string]matrix.DType{
	"ui8": matrix.U8, "ui16": matrix.U16, "ui32": matrix.U32, "ui64": matrix.U64,
	"si8": matrix.I8, "si16": matrix.I16, "si32": matrix.I32, "si64": matrix.I64, "f32": matrix.F32, "f64": matrix.F64,
}

// ValueType is DAPHNE's name of the type, or of a larger one that DAPHNE has; own is the type's own name then, else "".
func ValueType(d matrix.DType) (daphne, own string) {
	daphne = valueTypes[d]
	if valueDTypes[daphne] != d {
		own = d.String()
	}
	return daphne, own
}

// SidecarDType is the type that the two names of ValueType stand for.
func SidecarDType(daphne, own string) (matrix.DType, error) {
	if own != "" {
		d, err := matrix.ParseDType(own)
		if err != nil {
			return d, fmt.Errorf("dtype %q, want an element type: %w", own, ErrCorrupt)
		}
		return d, nil
	}
	if d, ok := valueDTypes[daphne]; ok {
		return d, nil
	}
	if daphne == "str" {
		return matrix.Invalid, fmt.Errorf("valueType str, want numbers: text is not supported: %w", ErrVersion)
	}
	return matrix.Invalid, fmt.Errorf("valueType %q, want one of si8 si16 si32 si64 ui8 ui16 ui32 ui64 f32 f64: %w", daphne, ErrCorrupt)
}

// NewSidecar describes the matrix: as a frame if it has labels or columns of several types.
func NewSidecar(m *matrix.Meta) *Sidecar {
	s := &Sidecar{NumCols: &m.Cols, NumRows: &m.Rows, Thole: &SidecarOwn{Dims: m.Dims}}
	if m.Labels == nil && m.ColTypes == nil {
		s.ValueType, s.Thole.DType = ValueType(m.DType)
		return s
	}
	s.Thole.Made = m.Labels == nil
	for i := range m.Cols {
		c := SidecarColumn{Label: fmt.Sprintf("col_%d", i)}
		if m.Labels != nil {
			c.Label = m.Labels[i]
		}
		c.ValueType, c.DType = ValueType(m.ColType(m.ColLo + i))
		s.Schema = append(s.Schema, c)
	}
	if m.Cols == 0 {
		s.ValueType, s.Thole.DType = ValueType(m.DType)
	}
	return s
}

// Fill puts what the sidecar says into m and checks it.
func (s *Sidecar) Fill(m *matrix.Meta) error {
	switch {
	case s.NumRows == nil || s.NumCols == nil:
		return fmt.Errorf("no numRows or no numCols, want both: %w", ErrCorrupt)
	case *s.NumRows < 0 || *s.NumCols < 0 || *s.NumRows == math.MaxInt64:
		return fmt.Errorf("%d rows, %d columns, want none below 0: %w", *s.NumRows, *s.NumCols, ErrCorrupt)
	case s.Schema != nil && int64(len(s.Schema)) != *s.NumCols:
		return fmt.Errorf("schema of %d columns, want %d as numCols says: %w", len(s.Schema), *s.NumCols, ErrCorrupt)
	}
	m.Rows, m.Cols = *s.NumRows, *s.NumCols
	own := SidecarOwn{}
	if s.Thole != nil {
		own = *s.Thole
	}
	if len(s.Schema) > 0 {
		if err := s.fillFrame(m, own.Made); err != nil {
			return err
		}
	} else {
		d, err := SidecarDType(s.ValueType, own.DType)
		if err != nil {
			return err
		}
		m.DType = d
	}
	if own.Dims != nil {
		m.Dims = own.Dims
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return nil
}

func (s *Sidecar) fillFrame(m *matrix.Meta, made bool) error {
	types, labels := make([]matrix.DType, len(s.Schema)), make([]string, len(s.Schema))
	mixed, named := false, false
	for i, c := range s.Schema {
		if c.ValueType == "" {
			c.ValueType = s.ValueType
		}
		d, err := SidecarDType(c.ValueType, c.DType)
		if err != nil {
			return fmt.Errorf("column %d (%q): %w", i+1, c.Label, err)
		}
		types[i], labels[i] = d, c.Label
		mixed, named = mixed || d != types[0], named || c.Label != ""
	}
	m.DType = types[0]
	if mixed {
		m.DType, m.ColTypes = matrix.F64, types
	}
	if named && !made {
		m.Labels = labels
	}
	return nil
}

// ReadSidecar reads the sidecar of the file; nil if there is none.
func ReadSidecar(ctx context.Context, b blob.Bucket, file string) (*Sidecar, error) {
	text, err := blob.ReadAll(ctx, b, file+SidecarExt, maxSidecar)
	if Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Sidecar{}
	if old, is, err := oldSidecar(text); is {
		if err != nil {
			return nil, fmt.Errorf("file %s: %w: %w", file+SidecarExt, err, ErrCorrupt)
		}
		return old, nil
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("file %s: not as DAPHNE writes it: %v: %w", file+SidecarExt, err, ErrCorrupt)
	}
	return s, nil
}

// oldSidecar reads what DAPHNE had before it had JSON (2022): rows, columns and whether all values have one type, then that type, or those
// of all columns and their labels: "5,5,1,f64", "2,2,0,si64,f64,a,b". is is false of anything that begins otherwise.
func oldSidecar(text []byte) (s *Sidecar, is bool, err error) {
	words := strings.Split(string(bytes.TrimSpace(text)), ",")
	var sizes [2]int64
	for i := range sizes {
		if i >= len(words) {
			return nil, false, nil
		}
		if sizes[i], err = strconv.ParseInt(words[i], 10, 64); err != nil {
			return nil, false, nil
		}
	}
	s = &Sidecar{NumRows: &sizes[0], NumCols: &sizes[1]}
	cols := sizes[1]
	switch types := words[2:]; {
	case len(types) == 2 && types[0] == "1":
		s.ValueType = types[1]
	case len(types) > 0 && types[0] == "0" && cols > 0 && (int64(len(types)-1) == cols || int64(len(types)-1) == 2*cols):
		for i := range cols {
			c := SidecarColumn{ValueType: types[1+i], Label: fmt.Sprintf("col_%d", i)}
			if int64(len(types)-1) == 2*cols {
				c.Label = types[1+cols+i]
			}
			s.Schema = append(s.Schema, c)
		}
	default:
		return nil, true, fmt.Errorf("%.60q, want ROWS,COLUMNS,1,TYPE, or ROWS,COLUMNS,0 and a type and a label for each column", text)
	}
	return s, true, nil
}

// shownSidecar is how many bytes of a sidecar are shown.
const shownSidecar = 480

// ExplainSidecar prints the sidecar of the file if there is one. What is wrong with it is said by who reads the file.
func ExplainSidecar(ctx context.Context, b blob.Bucket, file string, p *dump.Printer) {
	text, err := blob.ReadAll(ctx, b, file+SidecarExt, maxSidecar)
	if err != nil {
		return
	}
	p.Head("file %s", file+SidecarExt)
	text = bytes.TrimRight(text, "\n")
	n := min(len(text), shownSidecar)
	p.Text(0, text[:n], "description")
	if n < len(text) {
		p.Gap(int64(n), int64(len(text)-n), "more of it")
	}
}

// Write writes the sidecar of the file.
func (s *Sidecar) Write(ctx context.Context, b blob.Bucket, file string) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	return blob.WriteAll(ctx, b, file+SidecarExt, text)
}

// Check reports a sidecar that is longer than one that is read.
func (s *Sidecar) Check() error {
	_, err := s.text()
	return err
}

// text is what the file holds.
func (s *Sidecar) text() ([]byte, error) {
	text, err := json.Marshal(s)
	if err == nil && len(text) >= maxSidecar {
		err = fmt.Errorf("%s file of %d bytes, want at most %d: %w", SidecarExt, len(text)+1, maxSidecar, ErrLimit)
	}
	return append(text, '\n'), err
}
