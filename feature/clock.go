package feature

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that names of zones mean the same on every machine, also where the system has no table of them
)

// clock reads the times of a date column. Any number of goroutines may use it.
type clock struct {
	main  *pattern
	zone  *time.Location // instants are taken in it; nil: as they are written
	naive *time.Location // in which times without a zone are written; nil: in zone
	old   string         // layout of package time, of a model of an older version; "": main counts
	utc   bool           // of old: the table has instants, which such models took in UTC
}

// clocks are those of the date columns.
func clocks(columns []Column) (all []*clock, err error) {
	all = make([]*clock, len(columns))
	for i := range columns {
		if c := &columns[i]; c.Kind == Date && c.Format != "" {
			if all[i], err = c.clock(); err != nil {
				return nil, fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
	}
	return all, nil
}

func (c *Column) clock() (*clock, error) {
	if !strings.Contains(c.Format, "%") {
		return &clock{old: c.Format}, nil
	}
	p, err := compile(c.Format)
	if err != nil {
		return nil, err
	}
	k := &clock{main: p}
	k.zone, err = ParseZone(c.Timezone)
	return k, err
}

// ParseZone finds a time zone by its name in the IANA database, or an offset such as +02:00; nil is that of "".
func ParseZone(name string) (*time.Location, error) {
	switch name {
	case "":
		return nil, nil
	case "Z", "UTC", "GMT":
		return time.UTC, nil
	}
	if name[0] == '+' || name[0] == '-' {
		c := clockParts{}
		if rest, ok := c.zone([]byte(name)); ok && len(rest) == 0 {
			return time.FixedZone(offsetText(c.offset), int(c.offset)), nil
		}
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, wrong("unknown time zone %q, want a name of the IANA database such as Europe/Berlin, or an offset such as +02:00", name)
	}
	return zone, nil
}

// offsetText is an offset from UTC as times have it.
func offsetText(offset int32) string {
	sign, o := '+', offset
	if o < 0 {
		sign, o = '-', -o
	}
	return fmt.Sprintf("%c%02d:%02d", sign, o/3600, o/60%60)
}

// isoPatterns are the formats that are read whatever the format of the column is, as no other date begins with four digits and a dash:
// the same column is written in them where a table comes from another program, or has other parts. Those of times of day are apart.
var isoPatterns, dayPatterns = compiled("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M:%S%z",
	"%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M:%S %Z"), compiled("%H:%M:%S", "%H:%M")

// compiled are formats of this package.
func compiled(texts ...string) (all []*pattern) {
	for _, text := range texts {
		if p, err := compile(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// stamp reads a time in the format of the column, or in one of ISO 8601.
func (k *clock) stamp(text []byte) (s stamp, ok bool) {
	if s, ok = k.main.parse(text); ok {
		return s, true
	}
	others := isoPatterns
	if !k.main.dated {
		others = dayPatterns
	} else if len(text) < 10 || text[4] != '-' {
		return s, false
	}
	for _, p := range others {
		if s, ok = p.parse(text); ok {
			return s, true
		}
	}
	return s, false
}

// read reads a time as what its clock showed, in the zone of the column, as if that were UTC.
func (k *clock) read(text []byte, seen *zonesSeen) (t time.Time, ok bool) {
	if k.old != "" {
		if t, ok = readGoTime(k.old, text); ok && k.utc {
			t = t.UTC()
		}
		return t, ok
	}
	s, ok := k.stamp(text)
	if !ok {
		return t, false
	}
	if seen != nil {
		seen.add(s)
	}
	wall := s.wall
	switch {
	case k.zone == nil:
	case s.zoned:
		wall = showing(wall-int64(s.offset), k.zone)
	case k.naive != nil:
		at := time.Unix(wall, 0).UTC()
		at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, k.naive)
		wall = showing(at.Unix(), k.zone)
	}
	return time.Unix(wall, int64(s.nanos)).UTC(), true
}

// showing is what a clock of the zone shows at a time of seconds since 1970.
func showing(at int64, zone *time.Location) int64 {
	if zone == time.UTC {
		return at
	}
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return at + int64(offset)
}

// text is an example of a time.
func (k *clock) example() string {
	if k == nil {
		return "2026-01-31"
	}
	if k.old != "" {
		return exampleOf(k.old)
	}
	return k.main.example()
}

// ReadAs says of a table that is read for a transformation how its dates are written, where that is not as in training: the formats and
// the zones of times without one, by column or of all dates ("").
func (p *Plan) ReadAs(s *Spec) error {
	for _, name := range append(sortedNames(s.Columns), "") {
		c := s.Columns[name]
		if name == "" {
			c = Column{Format: s.DateFormat, Timezone: s.Timezone}
		}
		if c.Format == "" && c.Timezone == "" {
			continue
		}
		found := false
		for i := range p.columns {
			if p.clocks[i] == nil || name != "" && p.columns[i].Name != name {
				continue
			}
			found = true
			if err := p.readAs(i, c); err != nil {
				return fmt.Errorf("column %q: %w", p.columns[i].Name, err)
			}
		}
		if !found {
			return wrong("column %q was no date in training, want no format or time zone of it", name)
		}
	}
	return nil
}

func (p *Plan) readAs(i int, c Column) (err error) {
	k := *p.clocks[i]
	if k.old != "" {
		if format, ok := fromGo(k.old); c.Timezone == "" && ok {
			k.old = ""
			if k.main, err = compile(format); err != nil {
				return err
			}
		} else {
			return wrong("the model has no time zone: it was trained by an older version, want none said")
		}
	}
	if c.Format != "" {
		if k.main, err = compile(c.Format); err != nil {
			return err
		}
	}
	if c.Timezone != "" {
		if k.naive, err = ParseZone(c.Timezone); err != nil {
			return err
		}
		if k.zone == nil {
			k.zone = k.naive
		}
	}
	p.clocks = slices.Clone(p.clocks)
	p.clocks[i] = &k
	return nil
}

// Zoned says which columns of the table have times of a zone, by its name.
func (p *Plan) Zoned(zones map[string]string) {
	for i := range p.columns {
		if k := p.clocks[i]; k != nil && k.old != "" && zones[p.columns[i].Name] != "" {
			old := *k
			old.utc = true
			p.clocks = slices.Clone(p.clocks)
			p.clocks[i] = &old
		}
	}
}

// numbersOfSeconds is what a user should know of a column of durations, of which some cells are numbers.
func (p *Plan) numbersOfSeconds(name string, cells []string) []string {
	at := slices.IndexFunc(cells, func(cell string) bool { return isNumber(cell) && !p.missing[cell] })
	if at < 0 {
		return nil
	}
	return []string{fmt.Sprintf("column %q: numbers such as %s are taken as seconds; training had durations such as 1 days 02:03:04, which "+
		"need no unit", name, cells[at])}
}

// Differ are what a user should know of the times of a table that is read for a transformation: rows are some of it.
func (p *Plan) Differ(rows [][]string) (all []string) {
	for i := range p.columns {
		k, c := p.clocks[i], &p.columns[i]
		if c.Format == DurationFormat && p.cell[i] >= 0 {
			all = append(all, p.numbersOfSeconds(c.Name, column(rows, p.cell[i]))...)
		}
		if k == nil || k.old != "" || p.cell[i] < 0 {
			continue
		}
		seen := zonesSeen{of: newZones()}
		for _, text := range column(rows, p.cell[i]) {
			if s, ok := k.stamp([]byte(text)); ok {
				seen.add(s)
			}
		}
		z := seen.of
		fixed := k.zone != nil && strings.ContainsAny(c.Timezone[:min(1, len(c.Timezone))], "+-")
		switch {
		case k.zone == nil && z.zoned:
			all = append(all, fmt.Sprintf("column %q: times have a zone, and those of training had none; they are taken as they are written "+
				"(--timezone NAME converts them to the zone of training)", c.Name))
		case k.zone != nil && k.naive == nil && z.naive && k.main.timed:
			all = append(all, fmt.Sprintf("column %q: times without a zone are taken as those of %s, the zone of the model (--timezone names "+
				"another)", c.Name, c.Timezone))
		case fixed && z.elsewhere(k.zone):
			all = append(all, fmt.Sprintf("column %q: times with the offsets %s are converted to %s, the only one of training (training with "+
				"--timezone NAME, such as Europe/Berlin, takes local times)", c.Name, z.list(), c.Timezone))
		}
	}
	return all
}

// elsewhere reports whether there are offsets besides those of the zone, which is fixed, and UTC.
func (z *zones) elsewhere(zone *time.Location) bool {
	_, own := time.Unix(0, 0).In(zone).Zone()
	for o := range z.offsets {
		if o != 0 && int(o) != own {
			return true
		}
	}
	return false
}
