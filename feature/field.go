package feature

import "fmt"

// Field is a field of features of a Transform: those with the ids from First on.
type Field struct {
	Name  string // of the column, or of the part of its times
	Kind  Kind   // Numeric, Buckets, Categorical, Multi or Hash; parts of times are Numeric or Buckets
	First int64
	Size  int64
	// Levels are the texts of the ids from First+1 on, of Categorical and Multi. They are the Transform's.
	Levels Texts
}

// Field is field i of Fields.
func (t *Transform) Field(i int) Field {
	f := &t.fields[i]
	c := &t.Columns[f.column]
	out := Field{Name: f.name, Kind: f.kind, First: f.base, Size: f.size}
	if f.kind == Categorical {
		out.Kind, out.Levels = c.Kind, c.Levels
	}
	return out
}

// New is the transformation of columns of which everything is known, as Parse has them: missing are the texts that stand for nothing.
// Errors wrap ErrSpec.
func New(missing Texts, columns []Column) (*Transform, error) {
	t := &Transform{Missing: missing, Columns: columns}
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, nil
}

// check reports columns that cannot be, and prepares the others.
func (t *Transform) check() error {
	var names []string
	one := map[Kind]string{}
	for i := range t.Columns {
		c := &t.Columns[i]
		err := c.check()
		if err == nil {
			err = c.fitted()
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		names = append(names, c.Name)
		if c.Kind != Label && c.Kind != Weight && c.Kind != Group {
			continue
		}
		if before, is := one[c.Kind]; is {
			return wrong("column %q and another are both the %s, want one", before, c.Kind)
		}
		one[c.Kind] = c.Name
	}
	if err := checkHeader(names); err != nil {
		return specError{err}
	}
	if err := t.prepare(); err != nil {
		return specError{err}
	}
	return nil
}
