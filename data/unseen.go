package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thole.example/feature"
	"thole.example/internal/number"
)

// Unseen counts features that a model does not have, and categories of tables that training has not seen.
type Unseen struct {
	Features int `json:"features"` // different columns, or categories
	Values   int `json:"values"`   // in all examples together
	Examples int `json:"examples"` // that had some

	Columns []UnseenColumn `json:"columns,omitempty"` // of tables, in the order of the columns of the model

	Table   bool `json:"-"` // the examples are rows of a table
	Missing bool `json:"-"` // categories count as missing, and not as the rare ones of their column
}

// UnseenColumn counts the categories of a column that training has not seen.
type UnseenColumn struct {
	Column     string   `json:"column"`
	Categories int      `json:"categories"` // different ones; of a hashed column buckets
	Rows       int      `json:"rows"`       // that have some
	First      []string `json:"first"`      // the first ones; "" is a missing value. None: the column is hashed

	known []string // some that training has seen
}

// Text says what was left out of n examples.
func (u Unseen) Text(n int) string {
	if !u.Table {
		they := "were not in training; they count as zero"
		if u.Features == 1 {
			they = "was not in training; it counts as zero"
		}
		return fmt.Sprintf("%s in %d of %d examples %s", number.Of(u.Features, "feature"), u.Examples, n, they)
	}
	contain, they, as := "contain", "they are", `"other"`
	if u.Examples == 1 {
		contain = "contains"
	}
	if u.Features == 1 {
		they = "it is"
	}
	if u.Missing {
		as = "missing"
	}
	return fmt.Sprintf("%d of %s %s %s not seen in training; %s scored as %s%s", u.Examples, number.Of(n, "row"), contain,
		number.Of(u.Features, "category", "categories"), they, as, u.where())
}

// where names columns and categories, in brackets.
func (u *Unseen) where() string {
	var parts []string
	for i := range u.Columns {
		if i == shownColumns {
			parts = append(parts, fmt.Sprintf("and %s", number.Of(len(u.Columns)-i, "more column")))
			break
		}
		c := &u.Columns[i]
		text := c.Column
		if len(c.First) > 0 {
			text += ": " + quoted(c.First, c.Categories)
		}
		parts = append(parts, text)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// quoted is a list of categories, of so many in all.
func quoted(first []string, all int) string {
	var list []string
	for _, text := range first {
		if text == "" {
			list = append(list, "missing")
			continue
		}
		list = append(list, strconv.Quote(text))
	}
	if all > len(first) {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// Limits of what is said of unseen categories: columns in a line, categories of a column, and bytes of one.
const (
	shownColumns   = 4
	shownUnseen    = 3
	shownText      = 60
	warnShare      = 0.1 // of rows with unseen categories
	warnColumnRows = 2   // rows, all of which have unseen categories in a column
)

// Warnings are lines about n rows in which so many categories are unknown that the rows are probably not what they should be.
func (u Unseen) Warnings(n int) (all []string) {
	if !u.Table {
		return nil
	}
	for i := range u.Columns {
		c := &u.Columns[i]
		if c.Rows < n || n < warnColumnRows || len(c.First) == 0 {
			continue
		}
		text := fmt.Sprintf("warning: column %q: no row has a category seen in training (found %s", c.Column, quoted(c.First, c.Categories))
		if len(c.known) > 0 {
			text += fmt.Sprintf("; training has %s, ...", quoted(c.known, 0))
		}
		all = append(all, text+"); check spelling, case, encoding and whether it is the same column")
	}
	if share := float64(u.Examples) / float64(max(1, n)); all == nil && share >= warnShare && n >= warnColumnRows {
		all = append(all, fmt.Sprintf("warning: %.0f %% of the rows contain categories not seen in training; predictions may be poor", 100*share))
	}
	return all
}

// unseen gathers what was left out, in memory for each of the different columns.
type unseen struct {
	hashes
	values   int
	examples int
	columns  []unseenColumn // of tables, by the column of the plan
}

// unseenColumn gathers the categories of a column.
type unseenColumn struct {
	hashes
	name  string
	rows  int
	first []string
	known []string
}

// hashes are numbers with duplicates from distinct on.
type hashes struct {
	cols     []int64
	distinct int
}

func (u *unseen) reset() { *u = unseen{hashes: hashes{cols: u.cols[:0]}} }

func (u *unseen) add(other *unseen) {
	u.hashes.add(other.cols)
	u.values += len(other.cols)
	u.examples += other.examples
	for i := range other.columns {
		from := &other.columns[i]
		if from.rows == 0 {
			continue
		}
		to := u.column(i)
		to.name, to.known = from.name, from.known
		to.hashes.add(from.cols)
		u.values += len(from.cols)
		to.rows += from.rows
		for _, text := range from.first {
			to.show(text)
		}
	}
}

// column is what is gathered of a column.
func (u *unseen) column(i int) *unseenColumn {
	for len(u.columns) <= i {
		u.columns = append(u.columns, unseenColumn{})
	}
	return &u.columns[i]
}

// show keeps the category if it is one of the first.
func (c *unseenColumn) show(text string) {
	if len(c.first) < shownUnseen && !slices.Contains(c.first, text) {
		c.first = append(c.first, text)
	}
}

func (h *hashes) add(cols []int64) {
	const some = 1 << 16
	if h.cols = append(h.cols, cols...); len(h.cols) > 2*h.distinct+some {
		h.compact()
	}
}

func (h *hashes) compact() {
	slices.Sort(h.cols)
	h.cols = slices.Compact(h.cols)
	h.distinct = len(h.cols)
}

func (u *unseen) count() Unseen {
	u.compact()
	all := Unseen{Features: u.distinct, Values: u.values, Examples: u.examples}
	for i := range u.columns {
		c := &u.columns[i]
		if c.rows == 0 {
			continue
		}
		c.compact()
		all.Features += c.distinct
		all.Columns = append(all.Columns, UnseenColumn{c.name, c.distinct, c.rows, c.first, c.known})
	}
	return all
}

// unseenRows gathers what is unseen in the rows of a block.
type unseenRows struct {
	*unseen
	plan   *feature.Plan
	in     [feature.BlockRows]bool
	column int // of the last one, and its row
	row    int
}

// block begins a block of rows, with their categories that have no id.
func (u *unseen) block(plan *feature.Plan, found []feature.Unseen) *unseenRows {
	b := &unseenRows{unseen: u, plan: plan, column: -1}
	for i := range found {
		f := &found[i]
		c := b.add(f.Row, f.Column, f.Hash)
		if len(c.first) == shownUnseen {
			continue
		}
		if text := f.Text; len(text) > shownText {
			c.show(string(text[:shownText]) + "...")
		} else {
			c.show(string(text))
		}
	}
	return b
}

// add is one more in a column and row; those of a column come one after the other.
func (b *unseenRows) add(row, column int, hash int64) *unseenColumn {
	if !b.in[row] {
		b.in[row] = true
		b.examples++
	}
	c := b.unseen.column(column)
	if c.rows == 0 {
		c.name, c.known = b.plan.Known(column, shownUnseen)
	}
	if b.column != column || b.row != row {
		b.column, b.row = column, row
		c.rows++
	}
	c.cols = append(c.cols, hash)
	return c
}

// hashed counts the buckets of hashed columns, from the value at idx[from] on, that the columns of a model do not have.
func (b *unseenRows) hashed(r *rows, columns *Columns, from, row int) {
	for i := from; i < len(r.idx); i++ {
		if column := b.plan.Hashed(int(r.field[i])); column >= 0 && !columns.Has(r.idx[i]) {
			b.add(row, column, r.idx[i])
		}
	}
}
