package feature

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"thole.example/internal/spell"
)

// ErrSpec is what errors of a description of columns wrap.
var ErrSpec = errors.New("not a description of columns")

// specError wraps ErrSpec without saying so: what is wrong with a description says that it is one.
type specError struct{ error }

// Is implements errors.Is.
func (specError) Is(target error) bool { return target == ErrSpec }

// Unwrap implements errors.Unwrap.
func (e specError) Unwrap() error { return e.error }

// ErrNoColumn is what errors of columns wrap that a table does not have.
var ErrNoColumn = errors.New("no such column")

// NoColumn makes an error wrap ErrNoColumn without saying so.
func NoColumn(err error) error { return columnError{err} }

type columnError struct{ error }

// Is implements errors.Is.
func (columnError) Is(target error) bool { return target == ErrNoColumn }

// Unwrap implements errors.Unwrap.
func (e columnError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return specError{fmt.Errorf(format, args...)} }

// Kind is what a column is for.
type Kind string

// The kinds. Auto is found out from the first rows.
const (
	Auto        Kind = ""
	Label       Kind = "label"
	Weight      Kind = "weight"
	Group       Kind = "group"
	Numeric     Kind = "numeric"
	Buckets     Kind = "buckets"
	Categorical Kind = "categorical"
	Multi       Kind = "multi"
	Hash        Kind = "hash"
	Date        Kind = "date"
	Ignore      Kind = "ignore"
)

// Kinds is the table of kinds that a description may name, each with what it does.
func Kinds() []struct {
	Name Kind
	Help string
} {
	return []struct {
		Name Kind
		Help string
	}{
		{Numeric, "a number: logarithm where that is said or the column is skewed, then mean 0 and deviation 1"},
		{Buckets, "a number, by which of as many equally frequent intervals it is in"},
		{Categorical, "a text: a feature for each of its levels"},
		{Multi, "several texts in a cell, with a separator between them"},
		{Hash, "a text, hashed to a number of features: for levels without end"},
		{Date, "a time: hour, weekday, day and month are features, and the days since the mean time a number"},
		{Label, "what is to be predicted"},
		{Weight, "how much an example counts"},
		{Group, "whose examples are compared with one another, by gauc"},
		{Ignore, "nothing"},
	}
}

// Scales of numbers.
const (
	Standard = "standard" // mean 0, deviation 1
	None     = "none"     // as they are
)

// Spec is what a user says of the columns of a table. The zero value leaves everything to be found out but the label.
type Spec struct {
	Columns map[string]Column // by name; of columns that are not there the kind is found out
	Missing []string          // texts that stand for nothing; nil: MissingTexts
	// Positive is the label of positive examples, of two that are texts; "": the later one in the order of texts.
	Positive string
	Sep      byte     // between the cells of text; 0: found out
	Names    []string // of the columns, where the first line has none
	// Decimal is what stands before the fractions of numbers in text: '.' or ','; 0: a point, or what the model was trained with.
	Decimal byte
	// Raw keeps numbers as they are where their column does not say otherwise: trees ask for their order alone.
	Raw bool
	// DateFormat is that of dates for which none is said, in the notation of strptime; "": it is found out. Timezone is the zone in which
	// instants are taken and times without a zone are written, of columns for which none is said; "": that of the column.
	DateFormat, Timezone string
	// Zones are those that the table itself names, by column.
	Zones map[string]string
	// Samples are cells of columns of which the rows of the first file say too little, by column.
	Samples map[string][]string
}

// MissingTexts are those that stand for nothing where the user does not say others.
func MissingTexts() []string {
	return []string{"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", `\N`, "<NA>", "#N/A"}
}

// Limits and defaults of settings.
const (
	LevelLimit   = 1 << 28 // levels of a column
	BucketLimit  = 1 << 16
	SizeLimit    = 1 << 40 // features that texts are hashed to
	dimLimit     = 1 << 62 // features of all columns together
	usualBuckets = 32
	usualSize    = 1 << 20
	usualMin     = 2
)

// Column is a column: what a user says of it, and, in a Transform, what was found out.
type Column struct {
	Name string `json:"name,omitempty"`
	Kind Kind   `json:"kind,omitempty"`

	Log       *bool  `json:"log,omitempty"`       // numeric: sign(x) ln(1+|x|); nil: where the column is skewed
	Scale     string `json:"scale,omitempty"`     // numeric: Standard or None; "": Standard
	Buckets   int    `json:"buckets,omitempty"`   // buckets: how many
	Min       int    `json:"min,omitempty"`       // categorical, multi: examples that a level has at least
	Most      int    `json:"most,omitempty"`      // levels with an id at most
	Size      int64  `json:"size,omitempty"`      // hash: how many features
	Separator string `json:"separator,omitempty"` // multi: between levels
	// Format is that of dates, in the notation of strptime (in models of older versions a layout of package time, unix or unix-ms), "": found
	// out; of numbers DurationFormat, or "".
	Format   string   `json:"format,omitempty"`
	Timezone string   `json:"timezone,omitempty"` // date: in which instants are taken; "": as they are written
	Parts    []string `json:"parts,omitempty"`    // date
	// Compare is which cells are the same category: of categorical, multi and hash.
	Compare Comparison `json:"compare,omitempty"`

	Mean      float64   `json:"mean,omitempty"`
	Deviation float64   `json:"deviation,omitempty"` // 0 where all are equal
	Bounds    []float64 `json:"bounds,omitempty"`    // of buckets: each begins at one
	Levels    Texts     `json:"levels,omitempty"`    // by id, from 1 on (of labels: by the label, from 0 on); "" is a missing one
	Texts     bool      `json:"texts,omitempty"`     // label: levels are texts
	Other     bool      `json:"other,omitempty"`     // id 0 was learned
	Nothing   bool      `json:"nothing,omitempty"`   // "missing" was learned; of levels without a missing one: it is id 0, as any other
}

// ParseSpec reads a description in JSON:
//
//	{"label": "clicked", "positive": "yes", "weight": "w", "group": "user", "ignore": ["id"], "missing": ["", "NA"], "separator": ";",
//	 "columns": {"age": "numeric", "price": {"kind": "numeric", "log": true}, "tags": {"kind": "multi", "separator": "|"}}}
//
// The error wraps ErrSpec and has the line.
func ParseSpec(src []byte) (*Spec, error) {
	var f struct {
		Label, Positive, Weight, Group, Separator string
		Decimal                                   string
		Format, Timezone                          string
		Ignore, Missing, Names                    []string
		Columns                                   map[string]json.RawMessage
	}
	if err := strictly(src, 0, &f); err != nil {
		return nil, err
	}
	s := &Spec{Missing: f.Missing, Names: f.Names, Positive: f.Positive}
	var err error
	if err := s.Dates("", f.Format, f.Timezone); err != nil {
		return nil, err
	}
	if s.Sep, err = ParseSeparator(f.Separator); err != nil {
		return nil, err
	}
	if s.Decimal, err = ParseDecimal(f.Decimal); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Columns)) {
		c, raw := Column{}, f.Columns[name]
		key, _ := json.Marshal(name) // a text always can be
		before := bytes.Count(src[:max(0, bytes.Index(src, append(key, ':')))], []byte("\n"))
		if bytes.HasPrefix(raw, []byte(`"`)) {
			err = json.Unmarshal(raw, &c.Kind)
		} else {
			if err := strictly(raw, before, &c); err != nil { // which has the line
				return nil, fmt.Errorf("column %q: %w", name, err)
			}
		}
		if err == nil {
			err = s.Set(name, c)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: column %q: %w", before+1, name, err)
		}
	}
	one := map[Kind]string{Label: f.Label, Weight: f.Weight, Group: f.Group}
	for _, kind := range []Kind{Label, Weight, Group} {
		if one[kind] == "" {
			continue
		}
		if err := s.Set(one[kind], Column{Kind: kind}); err != nil {
			return nil, err
		}
	}
	for _, name := range f.Ignore {
		if err := s.Set(name, Column{Kind: Ignore}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// strictly reads JSON, which stands behind some lines, without unknown keys.
func strictly(src []byte, before int, to any) error {
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more after the end")
		}
	}
	if err != nil {
		at := int(d.InputOffset())
		if _, key, unknown := strings.Cut(err.Error(), "unknown field "); unknown {
			at, err = bytes.Index(src, []byte(key)), fmt.Errorf("unknown key %s", key)
		}
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
			at, err = int(kind.Offset), mistyped(kind)
		}
		line := 1 + before + bytes.Count(src[:max(0, min(at, len(src)))], []byte("\n"))
		return wrong("line %d: %w", line, err)
	}
	return nil
}

// mistyped says what stands where something else is wanted, in the words of JSON.
func mistyped(e *json.UnmarshalTypeError) error {
	found := "a " + strings.Replace(e.Value, "string", "text", 1)
	if e.Value == "array" || e.Value == "object" {
		found = "an " + e.Value
	}
	at, want := e.Field+": ", "a text"
	switch e.Type.Kind() {
	case reflect.Struct, reflect.Map:
		if want = "keys such as label, ignore and columns with their values"; e.Type == reflect.TypeFor[Column]() {
			want = "a kind, such as numeric, or keys such as kind with their values"
		}
	case reflect.Slice:
		want = "a list of texts"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64:
		want = fmt.Sprintf("a whole number up to %d", math.MaxInt64)
	}
	if e.Field == "" {
		at = ""
	}
	return fmt.Errorf("%sfound %s, want %s", strings.ToLower(at), found, want)
}

// ParseSeparator reads what stands between cells: one of , ; | or a tab, also written \t, or "" for what is found out.
func ParseSeparator(text string) (byte, error) {
	switch text {
	case "":
		return 0, nil
	case `\t`, "tab":
		return '\t', nil
	case ",", ";", "|", "\t":
		return text[0], nil
	}
	return 0, wrong("separator %q, want a comma, semicolon, bar or tab", text)
}

// Set says what a column is: more of one that something was said of.
func (s *Spec) Set(name string, c Column) error {
	before, ok := s.Columns[name]
	if ok && before.Kind != Auto && c.Kind != Auto && before.Kind != c.Kind {
		return wrong("column %q is %s and %s, want one of them", name, before.Kind, c.Kind)
	}
	if c.Kind == Auto {
		c.Kind = before.Kind
	}
	c.Name = name
	if c.Kind == Date || c.Kind == Auto {
		if err := c.dates(); err != nil {
			return err
		}
	}
	if err := c.check(); err != nil {
		return err
	}
	for other, o := range s.Columns {
		if other != name && o.Kind == c.Kind && slices.Contains([]Kind{Label, Weight, Group}, c.Kind) {
			return wrong("columns %q and %q are both the %s, want one", other, name, c.Kind)
		}
	}
	if s.Columns == nil {
		s.Columns = map[string]Column{}
	}
	s.Columns[name] = c
	return nil
}

// Dates says how the dates of a column are written, or with name "" those of all for which nothing else is said: a format in the notation
// of strptime and a time zone, "" for what stays open.
func (s *Spec) Dates(name, format, zone string) error {
	if format != "" {
		if _, err := compile(format); err != nil {
			return err
		}
	}
	if _, err := ParseZone(zone); err != nil {
		return err
	}
	if name == "" {
		s.DateFormat, s.Timezone = cmp.Or(format, s.DateFormat), cmp.Or(zone, s.Timezone)
		return nil
	}
	c := s.Columns[name]
	c.Kind = cmp.Or(c.Kind, Date)
	c.Format, c.Timezone = cmp.Or(format, c.Format), cmp.Or(zone, c.Timezone)
	return s.Set(name, c)
}

// Find is the column of the kind, "" if the user names none.
func (s *Spec) Find(kind Kind) string {
	for name, c := range s.Columns {
		if c.Kind == kind {
			return name
		}
	}
	return ""
}

// check reports settings that a column cannot have.
func (c *Column) check() error {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k.Name))
	}
	if c.Kind != Auto && !slices.Contains(names, string(c.Kind)) {
		return wrong("kind %q, want one of %s%s", c.Kind, strings.Join(names, ", "), spell.Hint(string(c.Kind), names))
	}
	switch {
	case c.Scale != "" && c.Scale != Standard && c.Scale != None:
		return wrong("scale %q, want %s or %s", c.Scale, Standard, None)
	case c.Buckets < 0 || c.Buckets > BucketLimit:
		return wrong("%d buckets, want 2 to %d", c.Buckets, BucketLimit)
	case c.Min < 0 || c.Most < 0 || c.Most > LevelLimit:
		return wrong("levels of %d examples at least, %d levels at most, want 0 or more, up to %d", c.Min, c.Most, LevelLimit)
	case c.Size < 0 || c.Size > SizeLimit:
		return wrong("hashed to %d features, want 1 to %d", c.Size, int64(SizeLimit))
	case c.Timezone != "" && c.Kind != Date:
		return wrong("time zone %q of a column that is %s, want it of dates", c.Timezone, c.Kind)
	case !slices.Contains([]Comparison{AsFound, AsTexts, AsNumbers, AsBooleans, AsTimes}, c.Compare):
		return wrong("categories compared as %q, want %s, %s, %s or %s", c.Compare, AsTexts, AsNumbers, AsBooleans, AsTimes)
	case len(c.Separator) > 1:
		return wrong("separator %q between levels, want one character", c.Separator)
	}
	for i, p := range c.Parts {
		if slices.Contains(c.Parts[:i], p) {
			return wrong("part %q of a date twice", p)
		}
		if partOf(p) == nil {
			return wrong("part %q of a date, want one of %s%s", p, strings.Join(partNames(), ", "), spell.Hint(p, partNames()))
		}
	}
	return nil
}

// dates checks the format and the zone of a date column that a user describes. A layout of package time becomes one of strptime.
func (c *Column) dates() error {
	if c.Format != "" && !strings.Contains(c.Format, "%") {
		format, ok := fromGo(c.Format)
		if !ok {
			return wrong("date format %q, want strptime notation such as %%d/%%m/%%Y", c.Format)
		}
		c.Format = format
	}
	if c.Kind == Auto && (c.Format != "" || c.Timezone != "") {
		c.Kind = Date
	}
	if c.Format != "" {
		if _, err := compile(c.Format); err != nil {
			return err
		}
	}
	_, err := ParseZone(c.Timezone)
	return err
}

// usual fills in the settings that the user left open.
func (c *Column) usual(raw bool) {
	if raw && (c.Kind == Numeric || c.Kind == Date) && c.Scale == "" && c.Log == nil {
		c.Scale, c.Log = None, new(bool)
	}
	switch c.Kind {
	case Buckets:
		if c.Buckets == 0 {
			c.Buckets = usualBuckets
		}
	case Categorical, Multi:
		if c.Min == 0 {
			c.Min = usualMin
		}
		if c.Kind == Multi && c.Separator == "" {
			c.Separator = "|"
		}
	case Hash:
		if c.Size == 0 {
			c.Size = usualSize
		}
	case Date:
		if c.Parts == nil {
			c.Parts = partNames()
		}
	}
}
