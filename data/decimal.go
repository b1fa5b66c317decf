package data

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"thole.example/feature"
	"thole.example/internal/number"
)

// errCommas is that of a table in which commas would be two things.
var errCommas = errors.New("a comma separates cells and is the decimal separator, want another separator between cells (--separator), or " +
	"--decimal . if fractions follow points")

// decimal is what stands before fractions: what the user says, else what the model was trained with.
func (t *Table) decimal() byte {
	if t.Spec.Decimal == 0 && t.Transform != nil {
		return t.Transform.Decimal
	}
	return t.Spec.Decimal
}

// checkCommas refuses a table whose cells are separated by what stands before fractions.
func (s *settings) checkCommas(sh *sheet, head []byte) error {
	first, _, _ := bytes.Cut(head, []byte{'\n'})
	if sh.commas && sh.sep == ',' && (s.sep == ',' || s.columns().Spec.Sep == ',' || bytes.IndexByte(first, ',') >= 0) {
		return errCommas
	}
	return nil
}

// withPoints writes the numbers among cells with points for commas. Whole numbers with points between thousands are numbers in columns
// that have commas, too.
func withPoints(rows [][]string) {
	whole := map[int]bool{}
	for range 2 {
		for _, row := range rows {
			for i, cell := range row {
				if number, ok := point(nil, []byte(cell), whole[i]); ok {
					row[i], whole[i] = string(number), true
				}
			}
		}
	}
}

// pointed are cells of a column of the sheet, in which the numbers have points for commas.
func (p *tableParser) pointed(cells feature.Cells, column int) feature.Cells {
	if !p.commas {
		return cells
	}
	name, always, may := p.plan.Numbers(column)
	if !may {
		return cells
	}
	always = always && p.cells == nil // cells that are no text have points
	to := &p.points[p.place[column]]
	to.Text, to.Lo, to.Hi = to.Text[:0], to.Lo[:0], to.Hi[:0]
	for k, lo := range cells.Lo {
		cell, begin := cells.Text[lo:cells.Hi[k]], len(to.Text)
		var ok bool
		if to.Text, ok = point(to.Text, cell, always); !ok {
			to.Text = append(to.Text, cell...)
			if always && bytes.IndexByte(cell, '.') >= 0 && p.wrong[k] == nil {
				p.wrong[k] = errPoint(name, cell)
			}
		}
		to.Lo, to.Hi = append(to.Lo, int32(begin)), append(to.Hi, int32(len(to.Text)))
	}
	to.Text = append(to.Text, 0) // what reads numbers may look behind them
	return feature.Cells{Text: to.Text[:len(to.Text)-1], Lo: to.Lo, Hi: to.Hi}
}

// errPoint is the error of a number with a point where commas stand before fractions; nil: the cell is no number, which others report.
func errPoint(column string, cell []byte) error {
	_, n := number.ParseFloat64(bytes.TrimSpace(cell))
	without := bytes.ReplaceAll(bytes.TrimSpace(cell), []byte{'.'}, nil)
	switch groups := bytes.Split(bytes.TrimLeft(bytes.TrimSpace(cell), "+-"), []byte{'.'}); {
	case n == 0 || n < len(bytes.TrimSpace(cell)):
		return nil
	case inThousands(groups):
		return fmt.Errorf("column %q: %s may be %s or have a decimal point, and --decimal is a comma: want numbers without separators of "+
			"thousands, or --decimal .", column, quote(cell), without)
	}
	return fmt.Errorf("column %q: %s has a decimal point, and --decimal is a comma: want one of the two in all numbers", column, quote(cell))
}

// point appends a number that is written with a decimal comma, and perhaps with points between thousands, as one with a decimal point.
// whole says that whole numbers with several points between thousands count, too. ok is false if the cell is none of these.
func point(to, cell []byte, whole bool) (number []byte, ok bool) {
	text := bytes.Trim(cell, " ")
	sign := len(text) - len(bytes.TrimLeft(text, "+-"))
	before, after, comma := bytes.Cut(text[min(sign, 1):], []byte{','})
	groups := bytes.Split(before, []byte{'.'})
	fraction, exponent, scientific := bytes.Cut(after, []byte{'e'})
	if !scientific {
		fraction, exponent, scientific = bytes.Cut(after, []byte{'E'})
	}
	switch {
	case !comma && (!whole || len(groups) < 3), comma && !allDigits(fraction):
		return to, false
	case scientific && !allDigits(bytes.TrimPrefix(bytes.TrimPrefix(exponent, []byte{'-'}), []byte{'+'})):
		return to, false
	case len(groups) == 1 && !allDigits(before) && len(before) > 0:
		return to, false
	case len(groups) > 1 && !inThousands(groups):
		return to, false
	}
	to = append(to, text[:min(sign, 1)]...)
	for _, g := range groups {
		to = append(to, g...)
	}
	if comma {
		to = append(append(to, '.'), after...)
	}
	return to, true
}

// inThousands reports whether groups of digits are those between separators of thousands.
func inThousands(groups [][]byte) bool {
	three := func(g []byte) bool { return len(g) == 3 && allDigits(g) }
	return allDigits(groups[0]) && len(groups[0]) <= 3 && !slices.ContainsFunc(groups[1:], func(g []byte) bool { return !three(g) })
}

// allDigits reports whether a text is digits, one at least.
func allDigits(text []byte) bool {
	return len(text) > 0 && !bytes.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}
