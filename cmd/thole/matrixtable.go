package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"thole.example/format"
)

// printMatrices prints a table; on a terminal that is too narrow for it a paragraph for each matrix.
func (f *finding) printMatrices(out io.Writer) error {
	var table strings.Builder
	if err := f.tabulate(&table); err != nil {
		return err
	}
	width := columns(out)
	fits := func(line string) bool { return utf8.RuneCountInString(strings.TrimRight(line, " \n")) <= width }
	if !terminal(out) || !slices.ContainsFunc(strings.SplitAfter(table.String(), "\n"), func(line string) bool { return !fits(line) }) {
		_, err := io.WriteString(out, table.String())
		return err
	}
	for _, m := range f.Matrices {
		text := fmt.Sprintf("%d x %d, %s, %s", m.Rows, m.Cols, m.DType, m.Layout)
		if !f.Quick && m.Unread == "" {
			text += fmt.Sprintf("; %s stored, %s zeros; min %s, mean %s, max %s, std %s", m.storedShare(), m.zeroShare(),
				short(m.Min), short(m.Mean), short(m.Max), short(m.Std))
		}
		if more := m.more(); more != "" {
			text += "; " + more
		}
		hang(out, width, 4, clipped(m.Name, longText), text)
		if m.Shape != "" {
			fmt.Fprintf(out, "    [%s]\n", m.Shape)
		}
	}
	return nil
}

// tabulate makes the table of the matrices.
func (f *finding) tabulate(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MATRIX\tSIZE\tTYPE\tLAYOUT\tSTORED\tZEROS\tMIN\tMEAN\tMAX\tSTD\tVALUES\tMORE")
	for _, m := range f.Matrices {
		if f.Quick || m.Unread != "" {
			fmt.Fprintf(w, "%s\t%d x %d\t%s\t%s\t-\t-\t-\t-\t-\t-\t\t%s\n", clipped(m.Name, longText), m.Rows, m.Cols, m.DType, m.Layout, m.more())
			continue
		}
		fmt.Fprintf(w, "%s\t%d x %d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clipped(m.Name, longText), m.Rows, m.Cols, m.DType, m.Layout,
			m.storedShare(), m.zeroShare(), short(m.Min), short(m.Mean), short(m.Max), short(m.Std), m.Shape, m.more())
	}
	return w.Flush()
}

func (m *matrixFinding) printAttrs(out io.Writer) {
	for i, label := range m.Labels {
		kind := m.DType
		if m.Types != nil {
			kind = m.Types[i]
		}
		fmt.Fprintf(out, "  %s: column %d: %s, %s\n", m.Name, int64(i)+m.First, clipped(label, longText), kind)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Attrs)) {
		fmt.Fprintf(out, "  %s: %s = %s\n", m.Name, name, clipped(m.Attrs[name], longText))
	}
}

// storedShare is the number of stored values, and of a sparse matrix their share of the cells.
func (m *matrixFinding) storedShare() string {
	if m.Layout != "sparse" || m.Stored == 0 {
		return fmt.Sprint(m.Stored)
	}
	return fmt.Sprintf("%d (%.3g%%)", m.Stored, 100*float64(m.Stored)/float64(m.Rows)/float64(m.Cols))
}

// zeroShare is the number of stored zeros and their share.
func (m *matrixFinding) zeroShare() string {
	if m.Zeros == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.3g%%)", m.Zeros, 100*m.ZeroShare)
}

// more is what only some matrices have.
func (m *matrixFinding) more() string {
	var more []string
	add := func(is bool, what string, args ...any) {
		if is {
			more = append(more, fmt.Sprintf(what, args...))
		}
	}
	add(m.Pieces > 1, "%d %s", m.Pieces, m.Kind)
	add(m.Kind != "", "%s", format.Bytes(m.Bytes))
	add(m.Saved != "", "saved rows %s", m.Saved)
	add(m.First != 0, "columns from %d", m.First)
	add(len(m.Dims) > 0 && len(m.Dims) != 2, "tensor %v", m.Dims)
	add(len(m.LoD) > 0, "LoD of %d levels", len(m.LoD))
	add(m.Origin != "", "stored as %s", m.Origin)
	add(len(m.Labels) > 0, "labels %s", few(m.Labels))
	add(len(m.Types) > 0, "types %s", few(m.Types))
	add(m.NaNs > 0, "%d NaN", m.NaNs)
	add(m.Infs > 0, "%d infinite", m.Infs)
	add(m.Unread != "", "cannot be read")
	return strings.Join(more, "; ")
}

// few is the first of many words.
func few(words []string) string {
	const shown = 6
	var first []string
	for _, w := range words[:min(shown, len(words))] {
		first = append(first, clipped(w, shortText))
	}
	text := strings.Join(first, ", ")
	if len(words) > shown {
		text += fmt.Sprintf(" and %d more", len(words)-shown)
	}
	return text
}

// How many characters of what files hold are shown to people, in lists and on lines of their own. JSON has all of them.
const (
	shortText = 24
	longText  = 240
)

var lineEnds = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`)

// oneLine shows what would begin another line or column, or what a table of columns takes for an escape (a byte 0xff).
func oneLine(text string) string { return escaped(lineEnds.Replace(text)) }

// clipped is the beginning of a long text, on one line, with the number of its characters.
func clipped(text string, limit int) string {
	text = oneLine(text)
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return text
	}
	return fmt.Sprintf("%s... (%d characters)", string([]rune(text)[:limit]), n)
}

func short(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.5g", *v)
}
