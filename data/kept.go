package data

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/feature"
	"thole.example/internal/spell"
)

// Kept are the cells of columns that Options.Keep names, as the table spells them.
type Kept struct {
	Names []string // of the columns
	cells keptCells
}

// Cell is the cell of row i of the batch in kept column k. It is read-only.
func (k *Kept) Cell(i, column int) []byte { return k.cells.at(i*len(k.Names) + column) }

// keptCells are texts, row after row.
type keptCells struct {
	text []byte
	ends []int
}

func (c *keptCells) at(i int) []byte {
	lo := 0
	if i > 0 {
		lo = c.ends[i-1]
	}
	return c.text[lo:c.ends[i]]
}

func (c *keptCells) append(text []byte) {
	c.text = append(c.text, text...)
	c.ends = append(c.ends, len(c.text))
}

// add appends texts lo to hi of other.
func (c *keptCells) add(other *keptCells, lo, hi int) {
	for i := lo; i < hi; i++ {
		c.append(other.at(i))
	}
}

func (c *keptCells) reset() { c.text, c.ends = c.text[:0], c.ends[:0] }

// keep finds the columns of a table that are kept.
func (s *settings) keep(sh *sheet, header []string) error {
	names := s.Keep
	if group := sh.plan.Name(feature.Group); s.KeepGroup && group != "" && !slices.Contains(names, group) {
		names = append(slices.Clone(names), group)
	}
	for _, name := range names {
		at := slices.Index(header, name)
		if at < 0 {
			return fmt.Errorf("no column %q to keep; the columns are %s%s", name, someNames(header), spell.Hint(name, header))
		}
		if sh.cells != nil {
			if _, err := sh.cells.Status(at); err != nil {
				return fmt.Errorf("%w; it cannot be kept", err)
			}
		}
		if sh.kept = append(sh.kept, at); !slices.Contains(sh.used, at) {
			sh.used = append(sh.used, at)
		}
	}
	s.kept = names
	return nil
}

// someNames are the first names of a header, for an error.
func someNames(header []string) string {
	const most = 12
	if len(header) > most {
		return strings.Join(header[:most], ", ") + fmt.Sprintf(" and %d more", len(header)-most)
	}
	return strings.Join(header, ", ")
}

// keptOf are the cells of the kept columns in a block of rows of text.
func (p *tableParser) keptOf(text []byte, rows int) []feature.Cells {
	p.keeping = p.keeping[:0]
	for _, column := range p.kept {
		p.keeping = append(p.keeping, p.textOf(text, column, rows))
	}
	return p.keeping
}
