package feature

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"thole.example/internal/number"
	"thole.example/internal/spell"
)

// Plan is how the cells of one table are read: a column of the table for each of the Transform's. Any number of goroutines may use it,
// each with an Encoder of its own. An open plan finds out levels, and its rows have codes until they are finished; others have ids.
type Plan struct {
	columns []Column
	cell    []int // which column of the table each is; -1: it is not there
	fields  []field
	first   []int         // fields before those of each column
	known   []*levels     // of a column with levels, whose codes are ids; nil in an open plan
	open    []*dictionary // of a column with levels; nil in others
	missing map[string]bool
	none    [][]byte  // the texts of missing
	absent  []float64 // the numbers among them
	clocks  []*clock  // of date columns
	zones   []*zones  // of date columns whose zone the rows of an open plan say

	decimal  byte   // of an open plan, as that of Spec
	positive string // label, in an open plan; "": not said
	doubts   []string
	float32  bool // numbers are rounded to it as they are read
	surveyed bool // parts of it keep what a Survey needs to know
}

// labelNames are those of columns that are taken for the label where the user names none.
func labelNames() []string {
	return []string{"label", "target", "class", "y", "click", "clicked", "outcome"}
}

// namesLabel reports whether a column is taken for the label by its name.
func namesLabel(name string) bool { return slices.Contains(labelNames(), strings.ToLower(name)) }

// LabelAt is the place of the column that is taken for the label where the user names none; -1: there is none.
func LabelAt(header []string) int {
	return slices.IndexFunc(header, namesLabel)
}

// Open plans the training table: header are its columns, and sample some of its first rows, by which the kinds of columns are found
// out that the user left open. More rows of an open plan may have levels that are new, but no other kinds of values.
func (s *Spec) Open(header []string, sample [][]string) (*Plan, error) {
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	for i, name := range header {
		if !utf8.ValidString(name) { // the saved transformation could not say it
			return nil, wrong("the name of column %d, %q, is no UTF-8, want one that is: iconv -f latin1 -t utf8 FILE",
				i+1, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Columns)) {
		if !slices.Contains(header, name) {
			return nil, NoColumn(wrong("no column %q; its columns are %s%s", name, shown(header), spell.Hint(name, header)))
		}
	}
	p := &Plan{positive: s.Positive, decimal: s.Decimal}
	p.miss(s.Missing)
	label := s.Find(Label)
	for i, name := range header {
		c, said := s.Columns[name]
		c.Name = name
		if !said && label == "" && namesLabel(name) {
			c.Kind, label = Label, name
		}
		cells := column(sample, i)
		if more := s.Samples[name]; more != nil {
			cells = slices.Clone(more)
		}
		if c.Kind == Auto && indexes(name, i, cells) {
			c.Kind = Ignore
			p.doubts = append(p.doubts, fmt.Sprintf("column %q is ignored: it is the index of a DataFrame or numbers the rows (--numeric or "+
				"--categorical %s takes it)", name, shellWord(name)))
		} else if err := p.find(&c, cells, s); err != nil {
			return nil, err
		}
		c.usual(s.Raw)
		p.columns, p.cell = append(p.columns, c), append(p.cell, i)
	}
	p.layout()
	p.dictionaries()
	var err error
	if p.clocks, err = clocks(p.columns); err != nil {
		return nil, err
	}
	p.zones = make([]*zones, len(p.columns))
	for i, c := range p.columns {
		if p.clocks[i] != nil && c.Timezone == "" {
			p.zones[i] = newZones()
		}
	}
	return p, nil
}

// dictionaries makes the plan open, with levels of its own.
func (p *Plan) dictionaries() {
	p.open = make([]*dictionary, len(p.columns))
	for i := range p.columns {
		if c := &p.columns[i]; c.leveled() {
			p.open[i] = newDictionary()
			for _, text := range p.none {
				if c.Kind != Label {
					p.open[i].known.set(hashText(text), 0)
				}
			}
		}
	}
}

// ForSurvey is an open plan of the same table whose codes of levels are its own, and whose parts a Survey takes.
func (p *Plan) ForSurvey() *Plan {
	other := *p
	other.surveyed = true
	other.dictionaries()
	return &other
}

// column is the cells of a column of rows.
func column(rows [][]string, i int) (cells []string) {
	for _, r := range rows {
		if i < len(r) {
			cells = append(cells, r[i])
		}
	}
	return cells
}

// shown is names for an error.
func shown(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

func checkHeader(header []string) error {
	seen := map[string]int{}
	for i, name := range header {
		if at, ok := seen[name]; ok {
			return fmt.Errorf("column %q twice, as number %d and %d, want every name once", name, at+1, i+1)
		}
		seen[name] = i
	}
	return nil
}

// miss takes the texts that stand for nothing.
func (p *Plan) miss(texts []string) {
	if texts == nil {
		texts = MissingTexts()
	}
	p.missing = map[string]bool{}
	for _, text := range append([]string{""}, texts...) {
		if !p.missing[text] {
			p.missing[text] = true
			p.none = append(p.none, []byte(text))
		}
		if x, n := number.ParseFloat64([]byte(text)); n == len(text) && n > 0 && x == x { // however a cell spells it
			p.absent = append(p.absent, x)
		}
	}
}

// find finds out what a user left open of a column, by some of its cells.
func (p *Plan) find(c *Column, cells []string, s *Spec) error {
	for i := range cells {
		cells[i] = strings.Trim(cells[i], blanks)
	}
	there := slices.DeleteFunc(slices.Clone(cells), func(text string) bool { return p.missing[text] || p.isAbsent(text) })
	others := slices.DeleteFunc(slices.Clone(there), isNumber)
	numbers := len(there) > 0 && len(others) == 0
	if c.Kind == Label { // where some are numbers, the others are mistakes
		c.Texts = c.Texts || len(there) > 0 && len(others) == len(there)
	}
	if c.Kind == Auto && s.DateFormat != "" && allAre(s.DateFormat, there) {
		c.Kind = Date
	}
	if c.Kind == Auto {
		switch c.Kind = Categorical; {
		case numbers, durations(others, there):
			if c.Kind = Numeric; numbers {
				p.lookAtNumbers(c, there)
			}
		case len(others) > 0 && mostly*len(others) <= len(there):
			p.doubts = append(p.doubts, doubt(c.Name, others, len(there)))
		case len(others) > 0 && !slices.ContainsFunc(others, func(text string) bool { return !withCommas.MatchString(text) }):
			p.doubts = append(p.doubts, fmt.Sprintf("column %q: %q is read as text: --decimal , reads decimal commas, else use a decimal "+
				"point and no thousands separator", c.Name, others[0]))
		default:
			found, err := p.findFormat(c.Name, there)
			switch {
			case err != nil:
				return err
			case found != "":
				c.Kind, c.Format = Date, found
			default:
				if text := looksLikeDates(c.Name, there); text != "" {
					p.doubts = append(p.doubts, text)
				} else if len(others) > 0 {
					p.lookAtTexts(c, others)
				}
			}
		}
	}
	if c.Kind == Hash && c.Compare == AsFound {
		c.Compare, _ = comparisonOf(func(yield func([]byte) bool) {
			for _, text := range there {
				if !yield([]byte(text)) {
					return
				}
			}
		})
	}
	if c.Kind == Numeric && c.Format == "" && (durations(others, there) || len(others) > 0 && timesOfDay(others)) {
		c.Format = DurationFormat
	}
	if c.Kind != Date {
		return nil
	}
	return p.findDate(c, there, numbers, s)
}

// findFormat is the format of texts that are dates in one only; "": they are in none.
func (p *Plan) findFormat(column string, texts []string) (format string, err error) {
	found, unlikely := findFormats(texts)
	switch {
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		return "", ambiguous(column, texts[0], found)
	case len(unlikely) > 0:
		p.doubts = append(p.doubts, fmt.Sprintf("%s (--date-format %s=%s reads them so)",
			daysAsYears(column, texts[0], found[0], unlikely[0]), column, unlikely[0].text))
	}
	return found[0].text, nil
}

// findDate finds out the format, the zone and the parts of a date column.
func (p *Plan) findDate(c *Column, there []string, numbers bool, s *Spec) error {
	c.Format = cmp.Or(c.Format, s.DateFormat)
	if c.Format == "" {
		found, err := p.findFormat(c.Name, there)
		switch {
		case numbers:
			return wrong("column %q: numbers such as %s may be seconds since 1970, dates or others, want their format: --date-format %s=%%s for "+
				"seconds since 1970, %s=%%Q for milliseconds, %s=%%Y%%m%%d for dates such as 20201231", c.Name, there[0], c.Name, c.Name, c.Name)
		case err != nil:
			return err
		case found != "":
			c.Format = found
		case len(there) > 0:
			return wrong("column %q: dates such as %q have no known format in common, want it named: --date-format %s=FORMAT in strptime "+
				"notation, such as %%d/%%m/%%Y", c.Name, there[0], c.Name)
		default:
			c.Format = isoPatterns[0].text
		}
	}
	of, err := compile(c.Format)
	if err != nil {
		return err
	}
	if c.Timezone == "" {
		if c.Timezone = s.Timezone; c.Timezone == "" && of.zoned {
			c.Timezone = s.Zones[c.Name]
		}
	}
	if c.Parts == nil {
		c.Parts = slices.DeleteFunc(partNames(), func(name string) bool { return !of.has(name) })
	}
	return nil
}

// has reports whether times of the format have the part.
func (p *pattern) has(part string) bool {
	day := strings.Contains(p.text, "%d") || strings.ContainsAny(p.text, "ejuFDsQ")
	switch part {
	case "hour":
		return p.timed
	case "weekday":
		return p.dated && day
	case "day":
		return p.dated && day
	case "month":
		return p.dated
	}
	return true
}

// allAre reports whether there are texts, all of a format.
func allAre(format string, texts []string) bool {
	p, err := compile(format)
	return err == nil && len(texts) > 0 && !slices.ContainsFunc(texts, func(text string) bool { return !ok(p, text) })
}

// isAbsent reports whether a cell spells a number that stands for nothing.
func (p *Plan) isAbsent(text string) bool {
	if len(p.absent) == 0 {
		return false
	}
	x, n := number.ParseFloat64([]byte(text))
	return n == len(text) && n > 0 && slices.Contains(p.absent, x)
}

// mostly is how many numbers there are to each other text in a column that was probably meant to be one of numbers.
const mostly = 10

// doubt tells of a column of texts that are mostly numbers.
func doubt(name string, others []string, cells int) string {
	are := "are not numbers, such as"
	if len(others) == 1 {
		are = "is not a number,"
	}
	return fmt.Sprintf("column %q: %d of the first %d cells %s %s, so the column is read as categories: --missing %s takes such cells as "+
		"missing, --numeric %s refuses them", name, len(others), cells, are, quote([]byte(others[0])), shellWord(others[0]), shellWord(name))
}

// Doubts are what a user should know of how columns were taken, when an open plan is made.
func (p *Plan) Doubts() []string { return p.doubts }

// isNumber reports whether a text is a number, also one that is not finite or beyond the largest: that is an error of its row, and makes a
// column none of texts.
func isNumber(text string) bool {
	if _, n := number.ParseFloat64([]byte(text)); n > 0 {
		return n == len(text)
	}
	_, err := strconv.ParseFloat(text, 64)
	return errors.Is(err, strconv.ErrRange)
}

// withCommas are numbers with a comma before the fraction, or between thousands.
var withCommas = regexp.MustCompile(`^[-+]?(\d+,\d+|\d{1,3}(\.\d{3})+,\d+|\d{1,3}(,\d{3})+(\.\d+)?)$`)

// Bind plans a table of raw rows for the transformation: its columns may come in another order and have others between. One that the
// model learned from has to be there; label, weight and group may be missing.
func (t *Transform) Bind(header []string) (*Plan, error) {
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	p := &Plan{columns: t.Columns, fields: t.fields, first: t.first, known: t.known, float32: t.Float32, clocks: t.clocks}
	p.miss(t.Missing)
	return p, p.bind(header)
}

// Of is the plan for another table with the same columns, in any order.
func (p *Plan) Of(header []string) (*Plan, error) {
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	other := *p
	other.cell = nil
	return &other, other.bind(header)
}

// bind finds the columns of the plan in a table.
func (p *Plan) bind(header []string) error {
	var lack []string
	place := make(map[string]int, len(header)) // tables may have very many columns
	for at, name := range header {
		place[name] = at
	}
	for i := range p.columns {
		c := &p.columns[i]
		at, ok := place[c.Name]
		if !ok {
			at = -1
		}
		if at < 0 && (p.first[i+1] > p.first[i] || p.open != nil && c.Kind != Ignore) {
			lack = append(lack, c.Name)
		}
		p.cell = append(p.cell, at)
	}
	if len(lack) > 0 {
		return NoColumn(fmt.Errorf("no column %s, which the model learned from; its columns are %s%s", shown(lack), shown(header),
			spell.Hint(lack[0], header)))
	}
	return nil
}

// TextLabels reports whether the labels are texts.
func (p *Plan) TextLabels() bool {
	return slices.ContainsFunc(p.columns, func(c Column) bool { return c.Kind == Label && c.Texts })
}

// HasColumn reports whether the plan has a column of the name, also one that is ignored.
func (p *Plan) HasColumn(name string) bool {
	return slices.ContainsFunc(p.columns, func(c Column) bool { return c.Name == name })
}

// Has reports whether the table has a column of the kind: Label, Weight or Group.
func (p *Plan) Has(kind Kind) bool {
	for i := range p.columns {
		if p.columns[i].Kind == kind && p.cell[i] >= 0 {
			return true
		}
	}
	return false
}

// Name is the name of the column of a kind of which there is one: Label, Weight or Group; "": the table has none.
func (p *Plan) Name(kind Kind) string {
	for i := range p.columns {
		if p.columns[i].Kind == kind && p.cell[i] >= 0 {
			return p.columns[i].Name
		}
	}
	return ""
}

// Known is the name of column i of the plan, and at most so many of its categories, the most frequent first.
func (p *Plan) Known(i, most int) (name string, categories []string) {
	c := &p.columns[i]
	for _, text := range c.Levels {
		if len(categories) < most && text != "" {
			categories = append(categories, text)
		}
	}
	return c.Name, categories
}

// Hashed is the column of the plan of a field if that is hashed; -1: it is not.
func (p *Plan) Hashed(field int) int {
	if p.fields[field].kind != Hash {
		return -1
	}
	return p.fields[field].column
}

// Columns are those of the table that are read, by their place in it.
func (p *Plan) Columns() (all []int) {
	for i := range p.columns {
		if p.columns[i].Kind != Ignore && p.cell[i] >= 0 {
			all = append(all, p.cell[i])
		}
	}
	return all
}

// Fields is how many fields the rows have.
func (p *Plan) Fields() int { return len(p.fields) }

// IsOpen reports whether rows have codes, which Fit's transformation makes ids.
func (p *Plan) IsOpen() bool { return p.open != nil }

// layout plans the fields of the columns.
func (p *Plan) layout() {
	for i := range p.columns {
		p.first = append(p.first, len(p.fields))
		p.fields = append(p.fields, fieldsOf(&p.columns[i], i)...)
	}
	p.first = append(p.first, len(p.fields))
}

// leveled reports whether the column has levels that are found out.
func (c *Column) leveled() bool {
	return c.Kind == Categorical || c.Kind == Multi || c.Kind == Label && c.Texts
}

// field is one field of features.
type field struct {
	column int
	kind   Kind  // Numeric, Buckets, Categorical or Hash: what its codes are
	part   *part // of a date
	base   int64 // its first id
	size   int64
	name   string
}

// fieldsOf are the fields of a column, without sizes.
func fieldsOf(c *Column, i int) (all []field) {
	switch c.Kind {
	case Numeric, Buckets, Categorical, Hash:
		return []field{{column: i, kind: c.Kind, name: c.Name}}
	case Multi:
		return []field{{column: i, kind: Categorical, name: c.Name}}
	case Date:
		for _, name := range c.Parts {
			f := field{column: i, kind: Buckets, part: partOf(name), name: c.Name + "." + name}
			if f.part.values == 0 {
				f.kind = Numeric
			}
			all = append(all, f)
		}
	}
	return all
}
