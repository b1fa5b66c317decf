package data

import (
	"cmp"
	"fmt"
	"strings"

	"thole.example/internal/spell"
)

// Source is a text format of examples. The table of sources is what Sources returns.
type Source struct {
	Name string // what Options.Format says
	Help string // one line for people

	base  int64 // what the format's indices count from, unless Options.Base says otherwise
	sep   byte  // separator byte beside blanks, 0 for none
	named bool  // values name their fields
	ones  bool  // all values are 1
	query bool  // lines may have the group of the row, qid:n
	// positional: columns are the positions of values, not ids
	positional bool
	cells      bool // a table that Options.OpenTable opens
	table      bool // lines are rows of cells, whose first one names the columns
	// features parses the features of a line from text[i] on, after the label, up to the end of the line, whose place it
	// answers. It appends to c.rows but leaves ptr to its caller.
	features func(c *chunk, s *settings, i int) (end int, err error)
	// value appends the text of a value with the blank before it; nil: the source is not written.
	value func(line []byte, field int32, index int64, v float32) []byte
}

// Sources lists every source. A new one is a new file and a line here.
func Sources() []Source {
	return []Source{
		libsvm,
		libffm,
		dummy,
		dense,
		csvTable,
		tsvTable,
		parquetTable,
		arrowTable,
	}
}

// NamesFields reports whether values name their fields.
func (s *Source) NamesFields() bool { return s.named }

// Writes reports whether Write writes it.
func (s *Source) Writes() bool { return s.value != nil }

// Cells reports whether it is text whose lines are rows of cells, and what stands between them where nothing else is said.
func (s *Source) Cells() (sep byte, ok bool) { return cmp.Or(s.sep, ','), s.table && !s.cells }

// Binary reports whether it is a table that is no text.
func (s *Source) Binary() bool { return s.cells }

// Groups reports whether lines may have groups.
func (s *Source) Groups() bool { return s.query }

// Tabular reports whether it is a table, text or not.
func (s *Source) Tabular() bool { return s.table }

// ends reports whether the input has an ending of the source.
func (s *Source) ends(input string) bool {
	return strings.HasSuffix(input, "."+s.Name) || s.Name == libffm.Name && strings.HasSuffix(input, ".ffm") ||
		s.Name == arrowTable.Name && (strings.HasSuffix(input, ".feather") || strings.HasSuffix(input, ".ipc"))
}

// FindSource finds a source by its name, in any case, or, if that is empty, by the ending of the input's name, before the one that says
// how it is packed; else it is libsvm. The error wraps ErrUnknown.
func FindSource(name, input string) (Source, error) {
	all, input := Sources(), Unpacked(input)
	names := make([]string, len(all))
	for i, s := range all {
		if strings.EqualFold(s.Name, name) || name == "" && s.ends(input) {
			return s, nil
		}
		names[i] = s.Name
	}
	if name == "" {
		return libsvm, nil
	}
	return Source{}, fmt.Errorf("data: %q: %w, want one of %s%s", name, ErrUnknown, strings.Join(names, " "), spell.Hint(name, names))
}
