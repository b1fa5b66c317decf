package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// How wide text for people is: as the terminal, within these bounds, and elsewhere as most people's.
const (
	narrowest  = 40
	widest     = 100
	usualWidth = 80
)

// terminalOf is the terminal that a writer writes to; ok is false if it writes elsewhere.
func terminalOf(w io.Writer) (fd int, ok bool) {
	if l, is := w.(legible); is {
		w = l.w
	}
	w = raw(w)
	if c, is := w.(*checked); is {
		w = c.w
	}
	f, is := w.(*os.File)
	if !is || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}

// terminal reports whether the output is one that people watch.
func terminal(w io.Writer) bool {
	_, ok := terminalOf(w)
	return ok
}

// columns is the width of the terminal that a writer writes to, in characters.
func columns(w io.Writer) int {
	if fd, ok := terminalOf(w); ok {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
	}
	return usualWidth
}

// textWidth is how wide text for people should be on a writer.
func textWidth(w io.Writer) int { return max(narrowest, min(widest, columns(w))) }

// wrap cuts a text into lines of at most so many characters, between words. A longer word has a line of its own.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// paragraphs wraps the paragraphs of a text, which empty lines separate. Indented lines are a list: each has a
// word, and what it means after two blanks or more.
func paragraphs(text string, width int) string {
	var out strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		indented := func(line string) bool { return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t") }
		for lines := strings.Split(p, "\n"); len(lines) > 0; {
			n := 1
			for n < len(lines) && indented(lines[n]) == indented(lines[0]) {
				n++
			}
			if indented(lines[0]) {
				list(&out, lines[:n], width)
			} else {
				out.WriteString(strings.Join(append(wrap(strings.Join(lines[:n], "\n"), width), ""), "\n"))
			}
			lines = lines[n:]
		}
	}
	return out.String()
}

// list prints lines of a word and its meaning, the meanings in one column.
func list(out io.Writer, lines []string, width int) {
	words, meanings, column := make([]string, len(lines)), make([]string, len(lines)), 0
	for i, line := range lines {
		words[i], meanings[i], _ = strings.Cut(strings.TrimSpace(line), "  ")
		column = max(column, utf8.RuneCountInString(words[i])+4)
	}
	for i, word := range words {
		hang(out, width, column, "  "+word, strings.TrimSpace(meanings[i]))
	}
}

// leastText is the least width of a column of text; where there is less, the text goes below what it explains.
const leastText = 30

// hang prints a word and what it means: beside it, from a column on, or below it where there is no room.
func hang(out io.Writer, width, column int, word, text string) {
	below := utf8.RuneCountInString(word) >= column
	if width-column < leastText {
		column, below = 6, true
	}
	lines := wrap(text, width-column)
	if below || len(lines) == 0 {
		fmt.Fprintln(out, word)
	} else {
		fmt.Fprintf(out, "%-*s%s\n", column, word, lines[0])
		lines = lines[1:]
	}
	for _, line := range lines {
		fmt.Fprintf(out, "%*s%s\n", column, "", line)
	}
}
