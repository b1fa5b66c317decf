package feature

import "slices"

// Numbers says of a column of the table whether its cells have to be numbers, and whether they may be: categories may.
func (p *Plan) Numbers(column int) (name string, always, may bool) {
	at := slices.Index(p.cell, column)
	if at < 0 {
		return "", false, false
	}
	switch c := &p.columns[at]; c.Kind {
	case Numeric:
		return c.Name, c.Format != DurationFormat, true
	case Buckets, Weight:
		return c.Name, true, true
	case Label:
		return c.Name, !c.Texts, true
	case Categorical, Hash, Group:
		return c.Name, false, c.Compare != AsTexts
	}
	return "", false, false
}

// ParseDecimal is what stands before fractions; 0: it is not said.
func ParseDecimal(text string) (byte, error) {
	switch text {
	case "":
		return 0, nil
	case ".", "point":
		return '.', nil
	case ",", "comma":
		return ',', nil
	}
	return 0, wrong("decimal separator %q, want a point or a comma", text)
}
