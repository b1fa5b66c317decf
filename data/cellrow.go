package data

import (
	"strconv"
	"strings"
)

// AppendCell appends a text as a cell of a table, in quotes where it has to be in order to read back as the same text.
func AppendCell(line []byte, sep byte, text string) []byte {
	plain := !strings.ContainsAny(text, "\"\r\n") && strings.IndexByte(text, sep) < 0
	if plain && (text == "" || !strings.ContainsAny(text[:1]+text[len(text)-1:], " \t")) {
		return append(line, text...)
	}
	line = append(line, '"')
	for {
		before, rest, more := strings.Cut(text, `"`)
		line = append(line, before...)
		if !more {
			return append(line, '"')
		}
		line, text = append(line, `""`...), rest
	}
}

// AppendRow appends texts as a line of a table. One that is all of its row is in quotes where it is empty: a blank line is no row.
func AppendRow(line []byte, sep byte, texts []string) []byte {
	for i, text := range texts {
		if i > 0 {
			line = append(line, sep)
		}
		line = AppendCell(line, sep, text)
	}
	if len(texts) == 1 && texts[0] == "" {
		line = append(line, `""`...)
	}
	return append(line, '\n')
}

// appendLevel appends a text of eight hexadecimal digits for a column of a field, one for each of 2^32, as those of Criteo's files look.
func appendLevel(line []byte, field int, level uint32) []byte {
	x := level ^ uint32(mix(uint64(field)+golden))
	x = (x ^ x>>16) * 0x85ebca6b // the finaliser of MurmurHash3, which is one to one
	x = (x ^ x>>13) * 0xc2b2ae35
	x ^= x >> 16
	const digits = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		line = append(line, digits[x>>shift&15])
	}
	return line
}

// numbered are n names with numbers from 1 on.
func numbered(names []string, name string, n int) []string {
	for i := range n {
		names = append(names, name+strconv.Itoa(i+1))
	}
	return names
}

func appendLabel(line []byte, positive bool) []byte {
	if positive {
		return append(line, '1')
	}
	return append(line, '0')
}

// Header are the names of the columns of AppendCells: label, and Names, or c1, c2 and so on.
func (m *ClickModel) Header() []string {
	if m.Names != nil {
		return append([]string{"label"}, m.Names...)
	}
	return numbered([]string{"label"}, "c", len(m.fields))
}

// AppendCells appends row number r as a line of a table: the label, 1 or 0, and for each field a text, the same for the same column of it.
// (Columns of a field that are 2^32 apart have the same text.)
func (m *ClickModel) AppendCells(line []byte, sep byte, r int64) []byte {
	var room [64]int64
	cols, positive := m.row(r, room[:0])
	line = appendLabel(line, positive)
	for f, col := range cols {
		line = appendLevel(append(line, sep), f, uint32(col-m.fields[f].first))
	}
	return append(line, '\n')
}

// Header are the names of the columns of AppendCells: label, numbers n1 to n13 and texts c1 to c26.
func (m *DeepClickModel) Header() []string {
	return numbered(numbered([]string{"label"}, "n", deepNumbers), "c", len(m.fields))
}

// AppendCells appends row number r as a line of a table: the label, 1 or 0, the counts themselves, nothing where one is missing, and for
// each field of columns a text, the same for the same column of it.
func (m *DeepClickModel) AppendCells(line []byte, sep byte, r int64) []byte {
	var row deepRow
	m.draw(uint64(r), &row)
	line = appendLabel(line, m.label.at(uint64(r)) < m.probability(&row))
	for _, a := range row.number {
		if line = append(line, sep); a.bucket != deepBuckets-1 {
			line = strconv.AppendFloat(line, a.count, 'f', -1, 64)
		}
	}
	for f, rank := range row.rank {
		line = appendLevel(append(line, sep), f, uint32(rank))
	}
	return append(line, '\n')
}
