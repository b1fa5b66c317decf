package feature

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Formats of dates and of times of day that are found out, and what stands between the two.
func dateFormats() []string {
	return []string{"%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
		"%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%y.%m.%d", "%y/%m/%d", "%y-%m-%d",
		"%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %b %y", "%d. %b %Y", "%d/%b/%Y", "%d%b%Y", "%d %b, %Y", "%b %d %Y", "%b %d, %Y", "%b-%d-%Y",
		"%b. %d, %Y",
		"%Y-%b-%d", "%Y %b %d", "%Y/%b/%d", "%a, %d %b %Y", "%a %d %b %Y", "%a, %b %d, %Y", "%a %b %d %Y", "%a, %d-%b-%y", "%a, %d-%b-%Y",
		"%G-W%V-%u", "%GW%V%u", "%G-W%V", "%GW%V"}
}

func timeFormats() []string {
	return []string{"%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%I:%M:%S%p", "%I:%M%p", "%I %p", "%I%p"}
}

// soleFormats stand alone: without a day, without a date, and those whose parts are in an order of their own.
func soleFormats() []string {
	return append(timeFormats(), "%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%b %Y", "%b-%Y", "%Y-%b", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%S%z",
		"%Y%m%dT%H%M", "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y", "%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S", "%d%b%Y:%H:%M:%S")
}

// candidates are the formats that may be those of a text.
func candidates(text string) (all []*pattern) {
	if len(text) > 48 || len(text) < 3 || !strings.ContainsAny(text, "0123456789") {
		return nil
	}
	fits := func(format string) bool {
		p, err := compile(format)
		fits := err == nil && ok(p, text) && (format != "%d.%m.%y" && format != "%y.%m.%d" || len(text) == 8) // which 1.2.10 is not
		if fits {
			all = append(all, p)
		}
		return fits
	}
	for _, date := range dateFormats() {
		if fits(date) || !begins(date, text) {
			continue
		}
		for _, between := range []string{" ", "T", ", ", "-"} {
			for _, of := range timeFormats() {
				for _, zone := range []string{"", "%z", " %z", " %Z"} {
					fits(date + between + of + zone)
				}
			}
		}
	}
	for _, format := range soleFormats() {
		fits(format)
	}
	return all
}

func ok(p *pattern, text string) bool {
	_, ok := p.parse([]byte(text))
	return ok
}

// begins reports whether a date in the format stands at the beginning of the text, and something after it.
func begins(format, text string) bool {
	p, err := compile(format)
	if err != nil {
		return false
	}
	for end := 6; end < len(text); end++ {
		if ok(p, text[:end]) {
			return true
		}
	}
	return false
}

// findFormats are the formats of all texts, but for those that read each as another one does. Those that take days for years are unlikely:
// they are left out if one format remains.
func findFormats(texts []string) (all, unlikely []*pattern) {
	if len(texts) == 0 {
		return nil, nil
	}
	all = candidates(texts[0])
	for _, text := range texts {
		if len(all) == 0 {
			return nil, nil
		}
		all = slices.DeleteFunc(all, func(p *pattern) bool { return !ok(p, text) })
	}
	for i := 0; i < len(all); i++ {
		all = slices.DeleteFunc(all, func(p *pattern) bool { return slices.Index(all, p) > i && same(p, all[i], texts) })
	}
	var likely []*pattern
	for _, p := range all {
		if slices.ContainsFunc(all, func(other *pattern) bool { return takesDaysForYears(p, other, texts) }) {
			unlikely = append(unlikely, p)
		} else {
			likely = append(likely, p)
		}
	}
	if len(likely) != 1 {
		return all, nil
	}
	return likely, unlikely
}

// manyDays is the number of different days of the month from which on a part of dates may be taken for the day.
const manyDays = 28

// takesDaysForYears reports whether a format with years of two digits reads as years what another one reads as days, and the texts show
// that they are days: nearly all days of the month occur, in at most a quarter as many years, and a month of 31 days ends or begins with
// them next to a shorter one. Years would have to be those from 2001 to 2031 for that; every month or quarter of them has a date that does
// not exist in the other format, or no two months next to each other. Fewer years, as of a series of months, decide nothing.
func takesDaysForYears(p, other *pattern, texts []string) bool {
	if p == other || !strings.Contains(p.text, "%y") || !strings.Contains(other.text, "%y") {
		return false
	}
	days, years, last := map[int]bool{}, map[int]bool{}, map[int]int{} // last day of each month
	for _, text := range texts {
		taken, _ := p.parse([]byte(text))
		s, _ := other.parse([]byte(text))
		at := time.Unix(s.wall, 0).UTC()
		if time.Unix(taken.wall, 0).UTC().Year()%100 != at.Day() {
			return false
		}
		month := at.Year()*12 + int(at.Month())
		days[at.Day()], years[at.Year()], last[month] = true, true, max(last[month], at.Day())
	}
	if len(days) < manyDays || 4*len(years) > len(days) {
		return false
	}
	for month, day := range last {
		for _, near := range []int{month - 1, month + 1} {
			if end := last[near]; day == 31 && end > 0 && end < 31 {
				return true
			}
		}
	}
	return false
}

// daysAsYears is what a user should know of a format that was preferred to another one because of takesDaysForYears.
func daysAsYears(name, text string, found, unlikely *pattern) string {
	return fmt.Sprintf("column %q: dates such as %q are read as %s, not as %s, which has the days of whole months as years", name, text,
		found.text, unlikely.text)
}

// same reports whether two formats, of all texts, read the same.
func same(a, b *pattern, texts []string) bool {
	for _, text := range texts {
		x, _ := a.parse([]byte(text))
		y, _ := b.parse([]byte(text))
		if x != y {
			return false
		}
	}
	return true
}

// ambiguous is the error of a column whose texts are dates in several formats.
func ambiguous(name, text string, all []*pattern) error {
	var options []string
	for _, p := range all {
		options = append(options, fmt.Sprintf("--date-format %s=%s", name, p.text))
	}
	return wrong("column %q: dates such as %q may be %s, as no row of the sample decides; name the format: %s, or "+
		"--categorical %s to read them as texts", name, text, formatNames(all), strings.Join(options, " or "), name)
}

// formatNames are the formats as people read them.
func formatNames(all []*pattern) string {
	var formats []string
	for _, p := range all {
		formats = append(formats, p.text)
	}
	return strings.Join(formats, " or ")
}

// dateLike are texts that look like dates or times of day, also without a year.
var dateLike = regexp.MustCompile(`(?i)^\W*((19|20)\d\d[-/. :年]?(q|w)?\d{1,3}\b|\d{1,2}[-/. ]\d{1,2}[-/. ](19|20)?\d\d\b|` +
	`\d{1,2}:\d\d\b|\d\d[-/]\d\d$|\d{1,2}[-/. ]+(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(tember)?|` +
	`oct(ober)?|nov(ember)?|dec(ember)?)$|` +
	`(\w+[, ]+)?(\d{1,2}[-/. ]*)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/.,' ]*\d)`)

// looksLikeDates is what a user should know of a column of texts that are nearly all like dates, "" for nothing.
func looksLikeDates(name string, texts []string) string {
	like, example := 0, ""
	for _, text := range texts {
		if len(text) < 48 && dateLike.MatchString(text) {
			like++
			example = text
		}
	}
	if len(texts) == 0 || like*10 < len(texts)*9 {
		return ""
	}
	return fmt.Sprintf("column %q: texts such as %q look like dates but have no known format in common, and are read as categories: "+
		"--date-format %s=FORMAT names one in strptime notation, such as %%d/%%m/%%Y (--categorical %s if they are no dates)", name, example,
		name, name)
}

func sortedNames(m map[string]Column) []string { return slices.Sorted(maps.Keys(m)) }
