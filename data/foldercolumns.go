package data

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"thole.example/blob"
	"thole.example/feature"
)

// folderColumn is a column whose cells are equal in all rows of a file: a folder of its path is called NAME=VALUE, as Hive, Spark and
// others write partitioned tables.
type folderColumn struct{ name, value string }

// hiveDefault is the value of folders of rows without a value.
const hiveDefault = "__HIVE_DEFAULT_PARTITION__"

// folderColumnsOf are the columns that the folders of a path as it is given name, the outermost first.
func folderColumnsOf(path string) (all []folderColumn, err error) {
	rest := strings.ReplaceAll(path, string(os.PathSeparator), "/")
	if _, _, object, is := blob.URL(path); is {
		rest = object
	}
	folders := strings.Split(rest, "/")
	for _, folder := range folders[:len(folders)-1] {
		name, value, is := strings.Cut(folder, "=")
		if !is || name == "" {
			continue
		}
		c := folderColumn{unescape(name), unescape(value)}
		if value == hiveDefault {
			c.value = ""
		}
		if i := slices.IndexFunc(all, func(other folderColumn) bool { return other.name == c.name }); i < 0 {
			all = append(all, c)
		} else if all[i].value != c.value {
			return nil, &Error{path, 0, fmt.Errorf("two folders name column %q (%q and %q), want one", c.name, all[i].value, c.value)}
		}
	}
	return all, nil
}

// FolderColumns are the names of the columns of a table that the folders of its path name, as in day=1/part-0.csv.
func FolderColumns(path string) (names []string) {
	all, _ := folderColumnsOf(path) // an error is one of reading it
	return folderNames(all)
}

func folderNames(all []folderColumn) (names []string) {
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// unescape replaces the characters that URLs escape, such as %3A. A percent sign without two hexadecimal digits stands for itself.
func unescape(text string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out, i = append(out, byte(code)), i+2
				continue
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

// agrees reports whether a cell of the file holds the value of the folder, in whatever spelling.
func (c *folderColumn) agrees(cell []byte) bool {
	text, value := strings.TrimSpace(string(cell)), strings.TrimSpace(c.value)
	if text == value || value == "" && slices.Contains(feature.MissingTexts(), text) {
		return true
	}
	if a, err := strconv.ParseInt(text, 10, 64); err == nil {
		if b, err := strconv.ParseInt(value, 10, 64); err == nil {
			return a == b
		}
	}
	if a, err := strconv.ParseFloat(text, 64); err == nil {
		if b, err := strconv.ParseFloat(value, 64); err == nil {
			return a == b
		}
	}
	if a, b := strings.ToLower(text), strings.ToLower(value); a == b && (a == "true" || a == "false") {
		return true
	}
	return instant(text) == instant(value)
}

// instant is the text of a time in one spelling: folders of days hold dates, and files the same days as instants at midnight, in UTC.
func instant(text string) string {
	const day = len("2006-01-02")
	if len(text) <= day || text[4] != '-' || text[7] != '-' || text[day] != ' ' && text[day] != 'T' {
		return text
	}
	clock := strings.TrimSuffix(strings.TrimSuffix(text[day+1:], "Z"), "+00:00")
	if strings.Contains(clock, ".") {
		clock = strings.TrimRight(strings.TrimRight(clock, "0"), ".")
	}
	if strings.Trim(clock, "0:") == "" {
		return text[:day]
	}
	return text[:day] + "T" + clock
}

// errDisagrees is the error of a cell that does not.
func (c *folderColumn) errDisagrees(cell []byte) error {
	value := strconv.Quote(c.value)
	if c.value == "" {
		value = "a missing value (" + hiveDefault + ")"
	}
	return fmt.Errorf("column %q: %s in the file and %s in the name of its folder, want one value; models trained with --ignore %s do "+
		"not use the column", c.name, quote(cell), value, c.name)
}

// folderCells says which columns of a table come from folders, and which of the file have to agree with them.
type folderCells struct {
	width int                  // columns of the file; those of folders follow
	added []folderColumn       // that the file does not have
	check map[int]folderColumn // by place in the file
}

// folderCellsOf divides the columns of folders, and answers the names of all columns.
func folderCellsOf(header []string, of []folderColumn) (f folderCells, names []string) {
	f.width, names = len(header), slices.Clone(header)
	for _, c := range of {
		if at := slices.Index(header, c.name); at < 0 {
			f.added, names = append(f.added, c), append(names, c.name)
		} else {
			if f.check == nil {
				f.check = map[int]folderColumn{}
			}
			f.check[at] = c
		}
	}
	return f, names
}

// names and values are those of the added columns.
func (f *folderCells) names() []string { return folderNames(f.added) }

func (f *folderCells) values() (all []string) {
	for _, c := range f.added {
		all = append(all, c.value)
	}
	return all
}

// line adds cells to a line of the file, before its end.
func (f *folderCells) line(text []byte, sep byte, cells []string) []byte {
	if len(cells) == 0 {
		return text
	}
	bare := bytes.TrimRight(text, "\r\n")
	end := string(text[len(bare):])
	for _, cell := range cells {
		bare = AppendCell(append(bare, sep), sep, cell)
	}
	return append(bare, end...)
}

// constants are the cells of an added column in n rows.
func (c *folderColumn) constants(n int) feature.Cells {
	cells := feature.Cells{Text: []byte(c.value), Lo: make([]int32, n), Hi: make([]int32, n)}
	for i := range cells.Hi {
		cells.Hi[i] = int32(len(c.value))
	}
	return cells
}

// extend adds the values of folders to rows of the file.
func (f *folderCells) extend(rows [][]string) {
	for i, row := range rows {
		if len(row) != f.width {
			continue // an error of its own when it is read
		}
		for _, c := range f.added {
			row = append(row, c.value)
		}
		rows[i] = row
	}
}

// folderTable is a table with columns of folders.
type folderTable struct {
	CellTable
	folderCells
	header []string
}

// inFolders adds the columns of folders to a table.
func inFolders(t CellTable, of []folderColumn) CellTable {
	if len(of) == 0 {
		return t
	}
	f := &folderTable{CellTable: t}
	f.folderCells, f.header = folderCellsOf(t.Header(), of)
	return f
}

// Header implements CellTable.
func (t *folderTable) Header() []string { return t.header }

// Status implements CellTable.
func (t *folderTable) Status(column int) (index bool, err error) {
	if column >= t.width {
		return false, nil
	}
	return t.CellTable.Status(column)
}

// Blocks implements CellTable.
func (t *folderTable) Blocks(ctx context.Context, columns []int, lo, hi int64) iter.Seq2[[]feature.Cells, error] {
	return func(yield func([]feature.Cells, error) bool) {
		var stored []int
		out := make([]feature.Cells, len(columns))
		for _, c := range columns {
			if c < t.width {
				stored = append(stored, c)
			}
		}
		fill := func(cells []feature.Cells, n int) error {
			next := 0
			for i, c := range columns {
				if c >= t.width {
					if len(out[i].Lo) != n {
						out[i] = t.added[c-t.width].constants(n)
					}
					continue
				}
				out[i] = cells[next]
				next++
				want, both := t.check[c]
				if !both {
					continue
				}
				for k := range n {
					if cell := out[i].Text[out[i].Lo[k]:out[i].Hi[k]]; string(cell) != want.value && !want.agrees(cell) {
						return want.errDisagrees(cell)
					}
				}
			}
			return nil
		}
		if len(stored) == 0 {
			for ; lo < hi; lo += feature.BlockRows {
				if err := fill(nil, int(min(hi-lo, feature.BlockRows))); !yield(out, err) {
					return
				}
			}
			return
		}
		for cells, err := range t.CellTable.Blocks(ctx, stored, lo, hi) {
			if err == nil {
				err = fill(cells, len(cells[0].Lo))
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// folders are the columns that the folders of inputs name.
type folders struct {
	of      [][]folderColumn    // by input
	samples map[string][]string // some values of each, which say what kind of column it is
	told    bool
}

// foldersOf finds the columns of folders of files; nothing else is in a folder.
func foldersOf(ins []Input) (f folders, err error) {
	f.of, f.samples = make([][]folderColumn, len(ins)), map[string][]string{}
	seen := map[folderColumn]bool{}
	for i, in := range ins {
		if !in.file {
			continue
		}
		if f.of[i], err = folderColumnsOf(in.Name); err != nil {
			return f, err
		}
		for _, c := range f.of[i] {
			if !seen[c] && len(f.samples[c.name]) < sampleRows {
				seen[c] = true
				f.samples[c.name] = append(f.samples[c.name], c.value)
			}
		}
	}
	for name, values := range f.samples { // each is that of many rows
		for n := len(values); len(values) < sampleRows; {
			values = append(values, values[len(values)-n])
		}
		f.samples[name] = values
	}
	return f, nil
}

// tell reports once which columns of a table come from folders, or that lines have no columns for them.
func (f *folders) tell(s *settings, path string, of []folderColumn) {
	if f.told || len(of) == 0 || s.Note == nil {
		return
	}
	f.told = true
	var words bytes.Buffer
	for i, c := range of {
		if i > 0 {
			words.WriteString(", ")
		}
		words.WriteString(c.name)
	}
	text := fmt.Sprintf("the names of its folders are columns of the table: %s", &words)
	if !s.table {
		text = fmt.Sprintf("the names of its folders (%s) are ignored: lines of %s have no named columns", &words, s.Name)
	}
	s.Note(path, 0, text)
}
