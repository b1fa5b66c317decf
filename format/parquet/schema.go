package parquet

import (
	"errors"
	"fmt"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
)

// schemaTable is what a schema has: the columns of numbers, and those that are left out.
type schemaTable struct {
	columns []column
	others  []string // names and types of the columns that are left out
	names   []string // of all columns below the root
	leaves  int      // chunks of a row group
}

// newSchema reads a schema: a root and the columns below it, of which some may be nested. Columns that are not of numbers are
// left out if they may be.
func newSchema(schema []pf.SchemaElement, skip bool) (t schemaTable, err error) {
	if len(schema) == 0 {
		return t, fmt.Errorf("no schema")
	}
	at := 1
	for i := range int(schema[0].NumChildren.V) {
		elements, leaves, err := subtree(schema, at)
		if err != nil {
			return t, fmt.Errorf("column %d of %d: %w", i, schema[0].NumChildren.V, err)
		}
		c, err := newColumn(&schema[at])
		c.leaf, c.index = t.leaves, i
		t.names = append(t.names, schema[at].Name)
		at, t.leaves = at+elements, t.leaves+leaves
		switch {
		case skip && errors.Is(err, format.ErrVersion):
			t.others = append(t.others, fmt.Sprintf("%s (%s)", c.name, kindOf(&schema[at-elements])))
		case err != nil:
			return t, fmt.Errorf("column %d (%q): %w", i, c.name, err)
		default:
			t.columns = append(t.columns, c)
		}
	}
	if at != len(schema) {
		return t, fmt.Errorf("schema of %d columns, and %d elements behind them", schema[0].NumChildren.V, len(schema)-at)
	}
	if n := len(t.columns); n > maxRead {
		return t, fmt.Errorf("%d columns, want at most %d: %w", n, maxRead, format.ErrLimit)
	}
	return t, nil
}

// subtree is how many elements the one at the place and those within it are, and how many of these have values.
func subtree(schema []pf.SchemaElement, from int) (elements, leaves int, err error) {
	for open := int64(1); open > 0; open-- {
		if from+elements >= len(schema) {
			return 0, 0, fmt.Errorf("the schema ends within it")
		}
		e := &schema[from+elements]
		if e.NumChildren.V < 0 {
			return 0, 0, fmt.Errorf("%d children", e.NumChildren.V)
		}
		if open += int64(e.NumChildren.V); e.NumChildren.V == 0 && e.Type.Valid {
			leaves++
		}
		elements++
	}
	return elements, leaves, nil
}

// kindOf says in a few words what a column that is not of numbers holds.
func kindOf(e *pf.SchemaElement) string {
	switch {
	case e.NumChildren.V > 0 || !e.Type.Valid:
		return "nested"
	case e.RepetitionType.V == pf.Repeated:
		return "repeated"
	}
	return fmt.Sprintf("%v, %s", e.Type.V, logical(e))
}
