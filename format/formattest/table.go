package formattest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"thole.example/format"
	"thole.example/matrix"
)

// TableTruth reads the cells that the tables of format/testdata/tables.py have, by the names of the table and of the column; nil
// for columns that cannot be read.
func TableTruth(path string) (tables map[string]map[string][]string, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &tables)
	}
	return tables, err
}

// TableCells reads some columns of the rows as texts, as tables.py writes them, and checks that the batches hold together.
func TableCells(t format.Table, columns []int, rows matrix.Range) ([][]string, error) {
	cells := make([][]string, len(columns))
	next := rows.Lo
	for b, err := range t.Batches(context.Background(), columns, rows) {
		if err != nil {
			return cells, err
		}
		if b.First != next || b.Rows < 1 || len(b.Cells) != len(columns) {
			return cells, fmt.Errorf("batch of %d rows from %d and %d columns, want it from %d and %d columns", b.Rows, b.First, len(b.Cells),
				next, len(columns))
		}
		next += int64(b.Rows)
		for i := range columns {
			some, err := cellTexts(&t.Columns()[columns[i]], &b.Cells[i], b.Rows)
			if err != nil {
				return cells, fmt.Errorf("column %q: %w", t.Columns()[columns[i]].Name, err)
			}
			cells[i] = append(cells[i], some...)
		}
	}
	if have := min(rows.Hi, t.Rows()); next != have && rows.Lo < have {
		return cells, fmt.Errorf("rows up to %d, want %d", next, have)
	}
	return cells, nil
}

// cellTexts are the cells of a batch as texts, lists as one.
func cellTexts(c *format.TableColumn, cells *format.Cells, rows int) (texts []string, err error) {
	count := rows
	if c.List {
		if len(cells.End) != rows || cells.NoList != nil && len(cells.NoList) != rows {
			return nil, fmt.Errorf("%d lists, %d that are there, want %d", len(cells.End), len(cells.NoList), rows)
		}
		count = int(cells.End[rows-1])
	}
	if cells.Null != nil && len(cells.Null) != count {
		return nil, fmt.Errorf("%d nulls, want %d", len(cells.Null), count)
	}
	if held := max(len(cells.Number), len(cells.Int), len(cells.Code), cells.Text.Len()); held != count ||
		held != len(cells.Number)+len(cells.Int)+len(cells.Code)+cells.Text.Len() {
		return nil, fmt.Errorf("%d cells, want %d of one kind", held, count)
	}
	all := make([]string, count)
	for i := range all {
		all[i] = cellText(c, cells, i)
	}
	if !c.List {
		return all, nil
	}
	start := int64(0)
	for i, end := range cells.End {
		switch {
		case end < start || end > int64(count):
			return nil, fmt.Errorf("list %d ends at %d behind %d", i, end, start)
		case cells.NoList != nil && cells.NoList[i]:
			texts = append(texts, "null")
		default:
			texts = append(texts, "["+strings.Join(all[start:end], ", ")+"]")
		}
		start = end
	}
	return texts, nil
}

func cellText(c *format.TableColumn, cells *format.Cells, i int) string {
	switch {
	case cells.Null != nil && cells.Null[i]:
		return "null"
	case c.Kind == format.Number:
		return fmt.Sprintf("%016x", math.Float64bits(cells.Number[i]))
	case c.Kind == format.Time:
		at := c.Time(cells.Int[i])
		return strconv.FormatInt(at.Unix()*1e9+int64(at.Nanosecond()), 10)
	case c.Kind == format.Whole && c.Unsigned:
		return strconv.FormatUint(uint64(cells.Int[i]), 10)
	case c.Kind == format.Text:
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		_ = e.Encode(string(cells.TextAt(i))) // of a string
		return strings.TrimSuffix(text.String(), "\n")
	}
	return strconv.FormatInt(cells.Int[i], 10)
}
