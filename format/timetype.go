package format

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"thole.example/matrix"
)

// TimeType is what whole numbers stand for that are dates, times of a day, moments or durations. As text it has Arrow's
// words, which Meta.ColOrigins take: date32[day], time64[us], timestamp[ns, tz=UTC].
type TimeType struct {
	Kind string
	Unit string // day, s, ms, us or ns
	Zone string // of a timestamp that is the same moment everywhere; "" for one that a clock on a wall shows
}

// timeTypes are the kinds with what numbers of them are and the units that they count.
var timeTypes = []struct {
	kind  string
	dtype matrix.DType
	units []string
}{
	{"date32", matrix.I32, []string{"day"}},
	{"date64", matrix.I64, []string{"ms"}},
	{"time32", matrix.I32, []string{"s", "ms"}},
	{"time64", matrix.I64, []string{"us", "ns"}},
	{"timestamp", matrix.I64, []string{"s", "ms", "us", "ns"}},
	{"duration", matrix.I64, []string{"s", "ms", "us", "ns"}},
}

// TimeKinds are the kinds of time, for Info.Origins.
func TimeKinds() (kinds []string) {
	for _, t := range timeTypes {
		kinds = append(kinds, t.kind)
	}
	return kinds
}

const zoneMark = ", tz="

// String is the type in Arrow's words.
func (t TimeType) String() string {
	if t.Zone != "" {
		return fmt.Sprintf("%s[%s%s%s]", t.Kind, t.Unit, zoneMark, t.Zone)
	}
	return fmt.Sprintf("%s[%s]", t.Kind, t.Unit)
}

// DType is the element type of such numbers; Invalid if there is no such type.
func (t TimeType) DType() matrix.DType {
	for _, known := range timeTypes {
		if known.kind == t.Kind && slices.Contains(known.units, t.Unit) && (t.Zone == "" || t.Kind == "timestamp") {
			return known.dtype
		}
	}
	return matrix.Invalid
}

// Cells is the kind of cells that are such numbers.
func (t TimeType) Cells() CellKind {
	switch t.Kind {
	case "date32", "date64", "timestamp":
		return Time
	}
	return Whole
}

// Tells takes from the type of its numbers what they stand for; a zero type says nothing.
func (c *TableColumn) Tells(t TimeType) {
	if t.Kind == "" {
		return
	}
	c.Kind, c.Zone, c.Days = t.Cells(), t.Zone, t.Kind == "date32" || t.Kind == "date64"
	c.Span, c.OfDay = t.Kind == "duration", t.Kind == "time32" || t.Kind == "time64"
	if c.Unit = 24 * time.Hour; t.Unit != "day" {
		c.Unit, _ = time.ParseDuration("1" + t.Unit) // which is one of them
	}
}

// ParseTimeType reads what String writes; ok is false for all else.
func ParseTimeType(text string) (t TimeType, ok bool) {
	kind, rest, _ := strings.Cut(text, "[")
	rest, closed := strings.CutSuffix(rest, "]")
	unit, zone, _ := strings.Cut(rest, zoneMark)
	t = TimeType{kind, unit, zone}
	return t, closed && t.DType() != matrix.Invalid && t.String() == text
}

// ColTimes are the times that the columns of the matrix stand for, for a writer whose format can say those that can tells of;
// the zero one for plain numbers. What is left of the others, whole numbers, it asks the options about. nil: there are none.
func ColTimes(m *matrix.Meta, o *Options, can func(TimeType) bool) ([]TimeType, error) {
	if m.ColOrigins == nil {
		return nil, nil
	}
	times := make([]TimeType, len(m.ColOrigins))
	for i, origin := range m.ColOrigins {
		t, ok := ParseTimeType(origin)
		if !ok {
			continue // Convert has asked
		}
		if c := m.ColLo + int64(i); t.DType() != m.ColType(c) || !can(t) {
			if err := o.Lose(Meanings, m.Name, "what numbers stand for: %s is %v, stored as %v", m.Label(c), t, m.ColType(c)); err != nil {
				return nil, err
			}
			continue
		}
		times[i] = t
	}
	return times, nil
}

// ColOriginNotes say what the numbers of single columns stand for.
func ColOriginNotes(m *matrix.Meta) []string {
	const shown = 16
	var some []string
	for i, origin := range m.ColOrigins {
		if origin != "" {
			some = append(some, fmt.Sprintf("%s is %s", m.Label(m.ColLo+int64(i)), origin))
		}
	}
	if some == nil {
		return nil
	}
	if n := len(some); n > shown {
		some = append(some[:shown], fmt.Sprintf("and %d more", n-shown))
	}
	return []string{"dates and times as whole numbers: " + strings.Join(some, ", ")}
}
