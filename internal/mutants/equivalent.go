package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// equivalents are the mutations that change nothing that a test could see, as equivalent.txt names them:
//
//	file
//	- line before
//	+ line after
//	= reason
//
// with blanks at the ends of lines left away, so that an entry holds wherever in the file the line stands. An empty line after
// "+" is a line that was removed whole.
type equivalents struct{ entries []entry }

type entry struct {
	File   string `json:"file"`
	Before string `json:"before"`
	After  string `json:"after"`
	Reason string `json:"reason"`
}

// readEquivalents reads the list. A module without one has none.
func readEquivalents(path string) (*equivalents, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return &equivalents{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseEquivalents(path, string(text))
}

func parseEquivalents(path, text string) (*equivalents, error) {
	e := &equivalents{}
	var rows []string
	for i, row := range strings.Split(text+"\n", "\n") {
		row = strings.TrimSpace(row)
		switch {
		case strings.HasPrefix(row, "#"):
		case row != "":
			rows = append(rows, row)
		case len(rows) > 0:
			if len(rows) != 4 || rows[1][0] != '-' || rows[2][0] != '+' || rows[3][0] != '=' {
				return nil, fmt.Errorf("%s: before line %d: %q, want a file, - before, + after, = reason", path, i+1, rows)
			}
			rest := func(row string) string { return strings.TrimSpace(row[1:]) }
			e.entries = append(e.entries, entry{rows[0], rest(rows[1]), rest(rows[2]), rest(rows[3])})
			rows = nil
		}
	}
	return e, nil
}

func (e entry) is(m *mutation) bool {
	return e.File == m.File && e.Before == m.Before && e.After == m.After
}

func (e *equivalents) has(m *mutation) bool {
	return slices.ContainsFunc(e.entries, func(e entry) bool { return e.is(m) })
}

// reason is why a mutation is equivalent.
func (e *equivalents) reason(m *mutation) string {
	if i := slices.IndexFunc(e.entries, func(e entry) bool { return e.is(m) }); i >= 0 {
		return e.entries[i].Reason
	}
	return ""
}
