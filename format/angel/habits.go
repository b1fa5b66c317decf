package angel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// habits says which version of Angel writes like this.
func (s *stored) habits(m *matrixMeta) string {
	_, ranged := m.options[rangeStart]
	_, library := m.options["ml.matrix.output.format"]
	switch {
	case m.version > 0:
		return fmt.Sprintf("written by thole, additions of version %d", m.version)
	case m.origin == fromLegacy:
		return "habits of Angel 1.x: binary metadata"
	case m.origin == fromServer:
		return "metadata of parameter servers, as in snapshots and saves that did not end"
	case m.origin == fromData:
		return "without metadata, as some algorithms leave it"
	case slices.ContainsFunc(s.notes, func(n string) bool { return strings.Contains(n, "3.2.0") }):
		return "habits of Angel 3.2.0: _meta, partitions without their columns"
	case s.dir.meta == metaNames[0]:
		return "habits of Angel 3.2 or later: _meta"
	case library:
		return "habits of Angel 3.0's library line: meta, option ml.matrix.output.format"
	case ranged && m.countsOneRow(s.dir.meta):
		return "habits of Angel 2.1 and 2.2: meta, with the index range among the options, nnz of one row"
	case ranged:
		return "habits of Angel 2.1 to 3.1: meta, with the index range among the options"
	case len(m.options) == 0:
		return "habits of Angel 2.0.x: meta, no options"
	}
	return "habits of Angel 2.0.x: meta, no index range among the options"
}

// describe adds what a user should know.
func (s *stored) describe(m *matrixMeta) {
	note := func(text string, args ...any) { s.notes = append(s.notes, fmt.Sprintf(text, args...)) }
	class, found := m.class, ""
	if s.layout != nil {
		class = s.layout.name
	}
	if m.plain {
		found = ", plain JSON"
	}
	partitions := "range"
	if !s.ranged {
		partitions = "hash"
	}
	habits := s.habits(m)
	s.notes = slices.Insert(s.notes, 0, fmt.Sprintf("%s, %v, metadata file %s%s, %s", class, m.rowType,
		orElse(blob.Base(s.dir.meta), "none"), found, describeParts(m, partitions)), habits)
	for _, g := range m.guesses {
		note("%s", format.Warning(g))
	}
	if s.dir.name != "" && m.name != "" && m.name != s.dir.name {
		note("the metadata call it %q", m.name)
	}
	if _, said := m.options[rangeStart]; !said && m.origin == fromJSON {
		note("no index range in the metadata, as before 2.1.0")
	}
	if m.cols > 0 && s.meta.Cols >= 0 && m.cols != s.meta.Cols {
		note("col is %d, the index range has %d columns", m.cols, s.meta.Cols)
	}
	if m.unordered && s.layout != nil && !s.layout.rowID && !s.bucketed {
		note("%s", format.Warning("rows are not listed in ascending order; ascending is taken as their order in the data, Angel itself "+
			"takes the listed one"))
	}
	if len(m.unknown) > 0 {
		note("unknown keys in the metadata: %q", m.unknown[:min(len(m.unknown), 8)])
	}
	s.describeLosses(m, note)
}

// describeParts says how many partitions of which size there are, in how many files.
func describeParts(m *matrixMeta, kind string) string {
	files := map[string]bool{}
	least, most, all := int64(math.MaxInt64), int64(0), int64(0)
	for i := range m.parts {
		p := &m.parts[i]
		files[p.file] = true
		least, most, all = min(least, p.size), max(most, p.size), all+p.size
	}
	text := fmt.Sprintf("%d %s partitions in %d files, %d bytes", len(m.parts), kind, len(files), all)
	switch {
	case len(m.parts) < 2:
		return text
	case least == most:
		return fmt.Sprintf("%s, %d each", text, most)
	}
	return fmt.Sprintf("%s, %d to %d each", text, least, most)
}

// describeLosses says what Angel lost when it saved.
func (s *stored) describeLosses(m *matrixMeta, note func(text string, args ...any)) {
	if s.layout == nil || m.version > 0 || m.origin == fromData {
		return
	}
	warn := func(text string) { note("%s", format.Warning(text)) }
	if s.layout.column && !s.ranged && len(m.parts) > 1 {
		warn("column format with hash partitions: Angel writes wrong ids behind the first partition")
	}
	if s.layout.column && s.meta.Layout == matrix.RowSparse && savedCount(&s.meta) > 1 {
		note("column format of sparse rows: Angel writes the columns of the first row, with zeros for absent cells")
		if lost := lostWhenSaved(m); lost > 0 {
			warn(fmt.Sprintf("at least %d values were lost when Angel saved: rows have more elements than there are columns", lost))
		}
	}
	if s.layout == &rowIDColIDValueText && s.meta.DType == matrix.F64 {
		note("Angel keeps six decimals of double values in this format")
	}
	if !s.ranged && s.meta.Layout == matrix.RowDense {
		note("dense rows in hash partitions, which Angel refuses to create")
	}
}

// lostWhenSaved counts elements that rows had in memory and for which a column format stores no column.
func lostWhenSaved(m *matrixMeta) (n int64) {
	for i := range m.parts {
		for _, r := range m.parts[i].rowMetas.all() {
			n += max(0, int64(r.n)-int64(m.parts[i].saved.cols))
		}
	}
	return n
}

// describeAll are the notes of a matrix, each with its name.
func (s *stored) describeAll() (notes []string) {
	for _, n := range s.notes {
		notes = append(notes, format.Named(s.meta.Name, n))
	}
	return notes
}
