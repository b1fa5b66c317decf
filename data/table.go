package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/feature"
)

// Table says how the columns of a table become examples.
type Table struct {
	Spec feature.Spec // what is known of the columns of training examples
	// Transform, if not nil, is that of a model, and Spec counts nothing but for the separator.
	Transform *feature.Transform
	// Held, if not nil, is given the labels of the examples, and the group of each, if there are groups. It answers which examples are held
	// out, nil for none: nothing is learned of levels and sizes from those.
	Held func(label []float32, group []int64) func(i int) bool
	// Found, if not nil, is given what was found out of the columns, before Load answers.
	Found func(*feature.Fit)
}

// of is the transformation of a model, nil if there is none.
func (t *Table) of() *feature.Transform {
	if t == nil {
		return nil
	}
	return t.Transform
}

// table is a source of rows of cells. The first line names the columns.
func table(name, help string, sep byte) Source {
	return Source{Name: name, Help: help, sep: sep, named: true, positional: true, table: true}
}

var (
	csvTable = table("csv", "cells with commas, semicolons, bars or tabs between them; the first line names the columns", 0)
	tsvTable = table("tsv", "cells with tabs between them; the first line names the columns", '\t')
)

// sheet is how the rows of one input are read.
type sheet struct {
	plan   *feature.Plan
	sep    byte
	width  int       // cells of a row
	rows   int       // of a block
	used   []int     // columns that are read
	kept   []int     // those whose cells are kept
	header bool      // the first line is no row
	cells  CellTable // whose rows they are; nil: lines are
	begin  int       // bytes up to the end of that line
	outer  folderCells
	commas bool     // stand before fractions
	doubts []string // what should be known of how the columns are read
}

// headLen is how much of an input is looked at to find out what its columns are.
const headLen = 1 << 20

// sampleRows is how many rows say what columns hold.
const sampleRows = 1000

// columns are what is known of those of tables.
func (s *settings) columns() *Table {
	if s.Table == nil {
		return &Table{}
	}
	return s.Table
}

// sheetOf plans the rows of an input that begins with head; whole says that this is all of it. plan is that of the input before, nil
// if this is the first.
func (s *settings) sheetOf(head []byte, whole bool, plan *feature.Plan) (*sheet, error) {
	head = bytes.TrimPrefix(head, []byte(byteOrderMark))
	t := s.columns()
	sh := &sheet{sep: t.Spec.Sep, header: t.Spec.Names == nil}
	if s.sep != 0 && sh.sep == 0 {
		sh.sep = s.sep
	}
	sh.commas = t.decimal() == ','
	if sh.sep == 0 {
		sh.sep = separatorOf(head, sh.commas)
	}
	if err := s.checkCommas(sh, head); err != nil {
		return nil, err
	}
	if end := lineEnd(head, sh.sep); end > 0 {
		head = head[:end]
	} else if !whole {
		return nil, fmt.Errorf("no line end in the first %d bytes, want a line with the names of the columns", len(head))
	}
	rows, begin, err := sampled(head, sh.sep)
	if err != nil && sh.header {
		return nil, err
	}
	header := t.Spec.Names
	if sh.header {
		if len(rows) == 0 {
			return nil, errors.New("empty, want a line with the names of the columns")
		}
		header, rows, sh.begin = rows[0], rows[1:], begin
		if err := checkNames(header); err != nil {
			return nil, err
		}
		if isComment(header, rows) {
			return nil, fmt.Errorf("%s is a comment, want a line with the names of the columns: grep -v '^#' FILE | thole ... --data - "+
				"--format csv", quote([]byte(header[0])))
		}
	}
	if err := s.planSheet(sh, header, rows, plan); err != nil {
		if sh.header {
			err = adviseHeader(err, header, rows)
		}
		return nil, err
	}
	if sh.header && plan == nil && t.Transform == nil && manyFigures(header) {
		sh.doubts = append(sh.doubts, "the first line seems to be a row, and is read as the names of the columns: --names NAME,NAME,... names "+
			"them if it is one")
	}
	return sh, nil
}

// headerIn are the names of the columns of a text that begins with head.
func (s *settings) headerIn(head []byte) ([]string, error) {
	head = bytes.TrimPrefix(head, []byte(byteOrderMark))
	sep := cmp.Or(s.columns().Spec.Sep, s.sep, separatorOf(head, s.columns().decimal() == ','))
	rows, _, err := sampled(head, sep)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], checkNames(rows[0])
}

// planSheet plans the columns of a sheet, of which some rows are known.
func (s *settings) planSheet(sh *sheet, header []string, rows [][]string, plan *feature.Plan) (err error) {
	t, of := s.columns(), s.folders
	if sh.cells != nil {
		of = nil // the table has them
	}
	sh.outer, header = folderCellsOf(header, of)
	sh.outer.extend(rows)
	sh.width = sh.outer.width
	if sh.commas {
		withPoints(rows)
	}
	switch {
	case plan != nil:
		if sh.plan, err = plan.Of(header); err == nil && t.Transform == nil {
			err = s.checkFolders(plan)
		}
	case t.Transform != nil:
		if sh.plan, err = t.Transform.Bind(header); err == nil {
			if err = sh.plan.ReadAs(&t.Spec); err == nil {
				sh.doubts = sh.plan.Differ(rows)
			}
		}
	default:
		spec := t.Spec
		if sh.cells != nil {
			spec.Zones = sh.cells.Zones()
		}
		spec.Samples = s.folderSamples(sh)
		if sh.plan, err = spec.Open(header, rows); err == nil {
			sh.doubts = sh.plan.Doubts()
		}
	}
	if err != nil {
		return err
	}
	if sh.cells != nil {
		sh.plan.Zoned(sh.cells.Zones())
		s.widen(sh)
	}
	switch {
	case s.NoLabel || sh.plan.Has(feature.Label):
	case s.Unlabelled != nil:
		s.Unlabelled()
		s.NoLabel = true
	default:
		return feature.NoColumn(fmt.Errorf("no column of labels, want one of %s named (--label-column NAME)", strings.Join(header, ", ")))
	}
	sh.used = sh.plan.Columns()
	if err := s.keep(sh, header); err != nil {
		return err
	}
	sh.rows = min(feature.BlockRows, max(1, blockCells/max(1, len(sh.used))))
	return nil
}

// widen reads float32 numbers exactly if the model wants it, and notes where CSV files are read differently.
func (s *settings) widen(sh *sheet) {
	t := s.columns().Transform
	if t == nil || !t.Widened {
		return
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Kind == feature.Numeric && sh.cells.Widen(c.Name) && s.Exact {
			sh.doubts = append(sh.doubts, fmt.Sprintf("column %q has numbers of less than 64 bits, whose exact values are compared with the "+
				"model's float64 thresholds, as by LightGBM; a CSV file of this table has rounded decimals, which may be scored differently", c.Name))
		}
	}
}

// folderSamples are values of the columns of folders that the files do not have themselves.
func (s *settings) folderSamples(sh *sheet) map[string][]string {
	added := sh.outer.added
	if t, is := sh.cells.(*folderTable); is {
		added = t.added
	}
	all := map[string][]string{}
	for _, c := range added {
		all[c.name] = s.samples[c.name]
	}
	return all
}

// checkFolders refuses columns of folders that the first table of a training does not have: its other files would lose them.
func (s *settings) checkFolders(plan *feature.Plan) error {
	for _, c := range s.folders {
		if !plan.HasColumn(c.name) {
			return fmt.Errorf("its folder names column %q, which the first file does not have, want the same columns in all files", c.name)
		}
	}
	return nil
}

// blockCells is how many cells a block has at most, unless one row has more.
const blockCells = 1 << 16

// indexName is the name of the first column where the first line gives none, as pandas writes the numbers of rows.
const indexName = "index"

// checkNames names a first column that has no name, and refuses a first line that names no columns.
func checkNames(header []string) error {
	if header[0] == "" && !slices.Contains(header, indexName) {
		header[0] = indexName
	}
	numbers := 0
	for i, name := range header {
		switch _, end := decimal(append([]byte(name), make([]byte, pad)...), 0); {
		case name == "":
			return fmt.Errorf("column %d has no name, want a first line with the name of each column (--names NAME,... where there is none)", i+1)
		case end == len(name):
			numbers++
		}
	}
	if numbers == len(header) {
		return fmt.Errorf("the first line has numbers only, want the names of the columns (--names NAME,... where there is no such line)")
	}
	return nil
}

// separatorOf is what stands most often between the names of the first line, outside of quotes: a comma where nothing does. Where commas
// stand before fractions it is none, but where there is nothing else.
func separatorOf(head []byte, commas bool) byte {
	var counts [256]int
	quotes := false
	for _, c := range bytes.TrimLeft(head, "\r\n") {
		if c == '"' {
			quotes = !quotes
		}
		if !quotes {
			counts[c]++
		}
		if c == '\n' && !quotes {
			break
		}
	}
	if commas && counts['\t']+counts[';']+counts['|'] > 0 {
		counts[','] = 0
	}
	best := byte(',')
	for _, sep := range []byte("\t;|") {
		if counts[sep] > counts[best] {
			best = sep
		}
	}
	return best
}

// sampled are the cells of the first rows, that of the names included, and where that one ends. The error is that of the first line.
func sampled(head []byte, sep byte) (rows [][]string, begin int, first error) {
	text := append(bytes.Clone(head), '\n', 0)
	var c cutter
	for i := 0; i < len(head) && len(rows) <= sampleRows; {
		next, n, err := c.cut(text, i, sep)
		if i = next; err != nil && begin == 0 {
			first = err
		}
		if begin == 0 && (err != nil || n > 0) {
			begin = min(next, len(head))
		}
		if err != nil || n == 0 {
			continue
		}
		row := make([]string, n)
		for k := range row {
			row[k] = string(text[c.lo[k]:c.hi[k]])
		}
		rows = append(rows, row)
	}
	return rows, begin, first
}

// cellLimit is how many cells a row has at most.
const cellLimit = 1 << 20

// cutter cuts a line into cells.
type cutter struct {
	lo, hi []int32
	lines  int64 // of text that the last line took
}

// isBlank reports whether a byte beside a cell is no part of it.
func isBlank(c, sep byte) bool { return c == ' ' || c == '\t' && sep != '\t' }

// cut cuts the line that begins at text[i] into n cells, 0 if it is blank, and answers where the next line begins. The text ends with a
// line end. Quotes around a cell are left out, and those within it are made single in place, with zeros behind them.
func (c *cutter) cut(text []byte, i int, sep byte) (next, n int, err error) {
	c.lo, c.hi, c.lines = c.lo[:0], c.hi[:0], 1
	quotes := false
	for {
		for isBlank(text[i], sep) {
			i++
		}
		var lo, hi int
		if text[i] == '"' {
			quotes = true
			if lo, hi, i, err = c.quoted(text, i); err != nil {
				return nextLine(text, i), 0, err
			}
			for isBlank(text[i], sep) || text[i] == '\r' {
				i++
			}
			if text[i] != sep && text[i] != '\n' {
				return c.skip(text, i, sep), 0, fmt.Errorf("%q after the quote at the end of cell %d, want a separator", text[i], len(c.lo)+1)
			}
		} else {
			lo = i
			for text[i] != sep && text[i] != '\n' {
				i++
			}
			for hi = i; hi > lo && (isBlank(text[hi-1], sep) || text[hi-1] == '\r'); {
				hi--
			}
		}
		c.lo, c.hi = append(c.lo, int32(lo)), append(c.hi, int32(hi))
		if text[i] == '\n' {
			break
		}
		if i++; len(c.lo) > cellLimit {
			return c.skip(text, i, sep), 0, fmt.Errorf("more than %d cells", cellLimit)
		}
	}
	if len(c.lo) == 1 && c.lo[0] == c.hi[0] && !quotes {
		return i + 1, 0, nil
	}
	return i + 1, len(c.lo), nil
}

// skip is where the line ends that is wrong at text[i], outside of quotes: where lineEnd has it end, so that the lines behind it are the
// same wherever the text is cut into pieces.
func (c *cutter) skip(text []byte, i int, sep byte) int {
	for {
		end := nextLine(text, i)
		q := bytes.IndexByte(text[i:end], '"')
		if q < 0 {
			return end
		}
		if i += q; !opens(text[:i], sep) {
			i++
			continue
		}
		var err error
		if _, _, i, err = c.quoted(text, i); err != nil {
			return nextLine(text, i)
		}
	}
}

func nextLine(text []byte, i int) int { return i + bytes.IndexByte(text[i:], '\n') + 1 }

var errQuote = errors.New("a quote that nothing closes, want one at the end of the cell, and two for one within it")

// quoted is the cell whose quote is at text[i], and where it ends.
func (c *cutter) quoted(text []byte, i int) (lo, hi, end int, err error) {
	lo = i + 1
	double := 0
	for end = lo; ; end++ {
		more := bytes.IndexByte(text[end:], '"')
		if more < 0 {
			return 0, 0, i, errQuote
		}
		if end += more + 1; end == len(text) || text[end] != '"' {
			break
		}
		double++
	}
	inner := text[lo : end-1]
	c.lines += int64(bytes.Count(inner, []byte("\n")))
	if hi = end - 1 - double; double > 0 {
		single(inner)
		clear(text[hi:end])
	}
	return lo, hi, end, nil
}

// single makes two quotes one, in place.
func single(cell []byte) {
	to := 0
	for i := 0; i < len(cell); i++ {
		if cell[to] = cell[i]; cell[i] == '"' {
			i++
		}
		to++
	}
}

// lineEnd is where the last line ends that ends within the text, outside of quotes; 0 if none does.
func lineEnd(text []byte, sep byte) (end int) {
	if bytes.IndexByte(text, '"') < 0 {
		return bytes.LastIndexByte(text, '\n') + 1
	}
	for i := 0; i < len(text); {
		q := bytes.IndexByte(text[i:], '"')
		if q < 0 {
			q = len(text) - i
		}
		if at := bytes.LastIndexByte(text[i:i+q], '\n'); at >= 0 {
			end = i + at + 1
		}
		if i += q; i == len(text) {
			break
		}
		if i++; !opens(text[:i-1], sep) {
			continue
		}
		for {
			more := bytes.IndexByte(text[i:], '"')
			if more < 0 {
				return end
			}
			if i += more + 1; i == len(text) {
				return end // another quote may follow
			}
			if text[i] != '"' {
				break
			}
			i++
		}
	}
	return end
}

// opens reports whether a quote after the text begins a cell.
func opens(before []byte, sep byte) bool {
	i := len(before)
	for i > 0 && isBlank(before[i-1], sep) {
		i--
	}
	return i == 0 || before[i-1] == sep || before[i-1] == '\n'
}
