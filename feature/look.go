package feature

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"thole.example/internal/number"
)

// pandasIndex are names that pandas gives to an index without one, in Parquet, and in CSV when it reads it again.
var pandasIndex = regexp.MustCompile(`^(__index_level_\d+__|Unnamed: 0(\.\d+)?|index)$`)

// leastIndex is of how many rows an index is recognized.
const leastIndex = 3

// indexes reports whether column number i holds the index of a DataFrame: by its name, and, unless only an index has such a name, as the
// first column with consecutive whole numbers.
func indexes(name string, i int, cells []string) bool {
	if !pandasIndex.MatchString(name) {
		return false
	}
	if strings.HasPrefix(name, "__index") {
		return true
	}
	if i > 0 && !strings.HasPrefix(name, "Unnamed") || len(cells) < leastIndex {
		return false
	}
	for k := range cells {
		v, err := strconv.ParseInt(cells[k], 10, 64)
		if first, bad := strconv.ParseInt(cells[0], 10, 64); err != nil || bad != nil || v != first+int64(k) {
			return false
		}
	}
	return true
}

// namesID are names of columns that identify something: user_id, itemId, ID.
var namesID = regexp.MustCompile(`(^|[_\-. ])(?i:id)$|[a-z0-9](Id|ID)$`)

// leastIDs is how many different ids a column has at least for them to be taken for ids, and rowsPerID how many of the first rows each has
// on average at least for them to be taken as categories.
const (
	leastIDs  = 10
	rowsPerID = 2
)

// lookAtNumbers takes whole numbers that are ids as categories, where that is certain: by the name of the column, and as the first rows
// have each of them at least twice on average. What else may be no number it reports.
func (p *Plan) lookAtNumbers(c *Column, cells []string) {
	distinct := map[string]bool{}
	whole, zeros := true, ""
	var room [64]byte
	for _, text := range cells {
		plain, _ := number.Plain(room[:0], []byte(text)) // 1.0 is 1, as Parquet has it
		distinct[string(plain)] = true
		_, n, ok := number.ParseInt64(plain)
		whole = whole && ok && n == len(plain)
		if zeros == "" && leadingZero.MatchString(text) {
			zeros = text
		}
	}
	dates := numericDates(cells)
	switch n := len(distinct); {
	case dates != "" && n >= leastIDs:
		p.doubts = append(p.doubts, fmt.Sprintf("column %q: whole numbers such as %s look like dates and are read as numbers: "+
			"--date-format %s=%s reads them as dates", c.Name, cells[0], c.Name, dates))
	case zeros != "":
		p.doubts = append(p.doubts, fmt.Sprintf("column %q: %q and the like are read as numbers, without the leading zeros: --categorical %s if "+
			"they are codes", c.Name, zeros, c.Name))
	case !whole || n < leastIDs || !namesID.MatchString(c.Name) || n == len(cells):
	case rowsPerID*n <= len(cells):
		c.Kind = Categorical
		p.doubts = append(p.doubts, fmt.Sprintf("column %q: whole numbers that are ids by its name (%d different ones in the first %d rows) are "+
			"taken as categories: --numeric %s takes them as numbers", c.Name, n, len(cells), c.Name))
	default:
		p.doubts = append(p.doubts, fmt.Sprintf("column %q: whole numbers look like ids (%d different ones in the first %d rows) and are read "+
			"as numbers: --categorical %s, or --hashed %s, learns from each of them", c.Name, n, len(cells), c.Name, c.Name))
	}
}

// numericDates is the format of whole numbers that are all dates of the last and this century, such as 20200714; "": they are not.
func numericDates(cells []string) string {
	if len(cells) == 0 {
		return ""
	}
	format := map[int]string{8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}[len(cells[0])]
	p, err := compile(format)
	if err != nil {
		return ""
	}
	for _, text := range cells {
		if s, ok := p.parse([]byte(text)); !ok || len(text) != len(cells[0]) || s.wall < firstDate || s.wall >= endDate {
			return ""
		}
	}
	return format
}

// Dates from 1900 to 2099, in seconds since 1970.
const (
	firstDate = -25567 * secondsOfDay
	endDate   = 47482 * secondsOfDay
)

// Numbers as people write them, which are read as texts, each with what they are called.
var (
	leadingZero  = regexp.MustCompile(`^0\d+$`)
	peopleNumber = []struct {
		what string
		form *regexp.Regexp
	}{
		{"numbers with units", regexp.MustCompile(`^[-+]?([$€£¥] ?[\d.,]*\d|\d[\d.,]* ?(%|‰|[$€£¥]|` +
			`°?[CF]|[kcm]?m|k?g|lbs?|oz|mi|ft|in|h|min|m?s|k?W|[KMG]B|[KkMB]|EUR|USD|GBP|px))$`)},
		{"numbers with underscores", regexp.MustCompile(`^[-+]?\d{1,3}(_\d{3})+(\.\d+)?$`)},
		{"hexadecimal numbers", regexp.MustCompile(`^0[xX][0-9a-fA-F]+$`)},
	}
)

// lookAtTexts reports texts that are all numbers as people write them.
func (p *Plan) lookAtTexts(c *Column, texts []string) {
	for _, one := range peopleNumber {
		all := true
		for _, text := range texts {
			all = all && one.form.MatchString(text)
		}
		if all {
			p.doubts = append(p.doubts, fmt.Sprintf("column %q: %s, such as %q, are read as categories, want plain digits to learn "+
				"from them as numbers",
				c.Name, one.what, texts[0]))
			return
		}
	}
}
