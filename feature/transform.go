package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
)

// FileName is the name under which a transformation is saved beside a model.
const FileName = "columns.json"

// version is that of the saved form.
const version = 1

// readAsFloat64 is what a saved form says whose numbers are read as float64.
const readAsFloat64 = "float64"

// Transform is what was found out about the columns of the training table: what turns raw rows into features. It is read-only, and any
// number of goroutines may use it.
type Transform struct {
	Missing Texts    // that stand for nothing
	Columns []Column // in the order of the training table
	// Decimal is what stands before the fractions of numbers in the text of the training table: ',', else a point.
	Decimal byte
	// Float32 says that numbers are rounded to float32 as they are read, as older models did in training.
	Float32 bool
	// Widened says that float32 and half floats of binary files are widened, as LightGBM and XGBoost do, and not read as the shortest
	// decimals that stand for them, as CSV files have them. It is not saved: such models have no transformation.
	Widened bool

	fields []field
	first  []int
	known  []*levels
	dim    int64
	clocks []*clock // of date columns
}

// prepare computes what follows from the columns.
func (t *Transform) prepare() error {
	var err error
	if t.clocks, err = clocks(t.Columns); err != nil {
		return err
	}
	p := Plan{columns: t.Columns}
	p.layout()
	t.fields, t.first, t.known, t.dim = p.fields, p.first, make([]*levels, len(t.Columns)), 0
	for i := range t.fields {
		f := &t.fields[i]
		c := &t.Columns[f.column]
		switch {
		case f.part != nil && f.part.values > 0:
			f.size = int64(1 + f.part.values)
		case f.kind == Numeric:
			f.size = 2
		case f.kind == Buckets:
			f.size = int64(len(c.Bounds) + 2)
		case f.kind == Hash:
			f.size = c.Size
		default:
			f.size = int64(len(c.Levels) + 1)
		}
		if f.base = t.dim; f.size > dimLimit-t.dim {
			return fmt.Errorf("more than %d features, up to column %q", int64(dimLimit), c.Name)
		}
		t.dim += f.size
	}
	if t.dim == 0 {
		return errors.New("no columns to learn from, want one at least that is no label, weight or group and is not ignored")
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.leveled() {
			if err := t.find(i); err != nil {
				return fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
	}
	return nil
}

// find makes the table of a column's levels.
func (t *Transform) find(i int) error {
	c := &t.Columns[i]
	l, from := newLevels(len(c.Levels)), 1
	if c.Kind == Label {
		from = 0
	}
	for n, text := range c.Levels {
		h := hashText([]byte(text))
		if l.find(h) >= 0 {
			return fmt.Errorf("level %q twice", text)
		}
		l.set(h, int32(n+from))
	}
	none := l.find(hashText(nil))
	if none < 0 && c.Nothing {
		none = 0
		l.set(hashText(nil), 0)
	}
	if none >= 0 {
		for _, text := range t.Missing {
			if h := hashText([]byte(text)); l.find(h) < 0 {
				l.set(h, none)
			}
		}
	}
	l.alias(c.Levels, from, c.Compare)
	t.known[i] = l
	return nil
}

// Dim is how many features there are: every id is below it.
func (t *Transform) Dim() int64 { return t.dim }

// Fields is how many fields there are.
func (t *Transform) Fields() int { return len(t.fields) }

// First are the first ids of the fields.
func (t *Transform) First() (all []int64) {
	for i := range t.fields {
		all = append(all, t.fields[i].base)
	}
	return all
}

// LabelTexts are the texts of the labels 0, 1 and so on; nil: labels are numbers.
func (t *Transform) LabelTexts() []string {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Kind == Label && c.Texts {
			return c.Levels
		}
	}
	return nil
}

// Label is the name of the column of the labels, "" if there is none.
func (t *Transform) Label() string {
	for i := range t.Columns {
		if t.Columns[i].Kind == Label {
			return t.Columns[i].Name
		}
	}
	return ""
}

// Agrees reports what a user says of columns, that is not what was found out about them in training.
func (t *Transform) Agrees(s *Spec) error {
	for _, name := range slices.Sorted(maps.Keys(s.Columns)) {
		said := s.Columns[name].Kind
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
		switch {
		case said == Auto, i < 0 && said == Ignore, i >= 0 && t.Columns[i].Kind == said:
		case i < 0:
			return fmt.Errorf("training had no column %q, want nothing said of it", name)
		default:
			return fmt.Errorf("column %q was %s in training, want it so or nothing said, and not %s", name, t.Columns[i].Kind, said)
		}
	}
	if texts := t.LabelTexts(); s.Positive != "" && len(texts) == 2 && !sameText(texts, texts[1], s.Positive) {
		return fmt.Errorf("positive label %q, want %q as in training", s.Positive, texts[1])
	}
	return nil
}

// WithoutLabel reads the same features, and no label even where a table has one.
func (t *Transform) WithoutLabel() *Transform {
	bare := *t
	bare.Columns = slices.Clone(t.Columns)
	for i := range bare.Columns {
		if c := &bare.Columns[i]; c.Kind == Label {
			c.Kind = Ignore
		}
	}
	return &bare
}

// Values are the features of rows lo to hi of a part, by field; ids is that of Fit, and exact that of an
// Encoder. They go to the memory that out has.
func (t *Transform) Values(part *Part, lo, hi int, ids [][]int32, exact bool, out []Values) {
	for i := range t.fields {
		f := &t.fields[i]
		part.values(i, f, lo, hi, &out[i])
		f.finish(&t.Columns[f.column], ids[i], &out[i], exact)
	}
}

// Name is what people call a feature: its field, and the level or what else it stands for.
func (t *Transform) Name(id int64) string {
	at := sort.Search(len(t.fields), func(i int) bool { return t.fields[i].base > id }) - 1
	if at < 0 || id >= t.dim {
		return strconv.FormatInt(id, 10)
	}
	f := &t.fields[at]
	c, local := &t.Columns[f.column], id-f.base
	switch {
	case f.kind == Numeric && local == isThere:
		return f.name
	case f.kind == Numeric, f.kind == Buckets && local == 0:
		return f.name + " missing"
	case f.part != nil:
		return f.name + "=" + f.part.text(int(local-1))
	case f.kind == Buckets:
		lo, hi := "", ""
		if local > 1 {
			lo = t.bound(c.Bounds[local-2])
		}
		if int(local) <= len(c.Bounds) {
			hi = t.bound(c.Bounds[local-1])
		}
		return fmt.Sprintf("%s in [%s,%s)", f.name, lo, hi)
	case f.kind == Hash:
		return fmt.Sprintf("%s hash %d", f.name, local)
	case local == 0:
		return f.name + " other"
	case c.Levels[local-1] == "":
		return f.name + " missing"
	}
	return f.name + "=" + c.Levels[local-1]
}

// bound is a bound of buckets in as few digits as say which number it is.
func (t *Transform) bound(v float64) string {
	if t.Float32 {
		return strconv.FormatFloat(v, 'g', -1, 32)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// saved is the form in which a transformation is kept.
type saved struct {
	Version int      `json:"version"`
	Numbers string   `json:"numbers,omitempty"` // what they are read as; older ones, which do not say it, as float32
	Decimal string   `json:"decimal,omitempty"` // a comma, else a point
	Missing Texts    `json:"missing"`
	Columns []Column `json:"columns"`
}

// JSON is the transformation as it is saved.
func (t *Transform) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	numbers := readAsFloat64
	if t.Float32 {
		numbers = ""
	}
	decimal := ""
	if t.Decimal == ',' {
		decimal = ","
	}
	err := e.Encode(saved{version, numbers, decimal, t.Missing, t.Columns})
	return b.Bytes(), err
}

// Parse reads what JSON wrote. Errors wrap ErrSpec.
func Parse(src []byte) (*Transform, error) {
	var s saved
	if err := strictly(src, 0, &s); err != nil {
		return nil, err
	}
	if s.Version != version {
		return nil, wrong("version %d of a transformation, want %d", s.Version, version)
	}
	if s.Numbers != "" && s.Numbers != readAsFloat64 {
		return nil, wrong("numbers are read as %q, want %s: the model needs a newer version", s.Numbers, readAsFloat64)
	}
	t := &Transform{Missing: s.Missing, Columns: s.Columns, Float32: s.Numbers == ""}
	var err error
	if t.Decimal, err = ParseDecimal(s.Decimal); err != nil {
		return nil, err
	}
	for i := range t.Columns {
		for k, b := range t.Columns[i].Bounds {
			if t.Float32 {
				t.Columns[i].Bounds[k] = float64(float32(b))
			}
		}
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, nil
}

// fitted reports what a column cannot be that was fitted.
func (c *Column) fitted() error {
	bad := func(format string, args ...any) error {
		return specError{fmt.Errorf(format, args...)}
	}
	switch {
	case c.Kind == Auto:
		return bad("no kind")
	case c.Kind == Multi && len(c.Separator) != 1:
		return bad("separator %q between levels, want one character", c.Separator)
	case c.Kind == Hash && c.Size < 1:
		return bad("hashed to %d features, want 1 or more", c.Size)
	case math.IsNaN(c.Mean) || math.IsInf(c.Mean, 0) || !(c.Deviation >= 0) || c.Deviation > 0 && math.IsInf(1/c.Deviation, 0):
		return bad("mean %v, deviation %v, want finite numbers", c.Mean, c.Deviation)
	case !slices.IsSorted(c.Bounds) || len(c.Bounds) > BucketLimit:
		return bad("%d bounds, want them in order", len(c.Bounds))
	case c.Kind == Date && (len(c.Parts) == 0 || c.Format == ""):
		return bad("a date without format or parts")
	}
	return nil
}
