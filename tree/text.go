package tree

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Levels of splits that are shown of a tree.
const (
	textLevels = 16 // if none are asked for
	svgLevels  = 6
	mostLevels = 64
)

// of is a tree by its number, and how many levels of it to show.
func (e *Ensemble) of(tree, levels, standard int) (*Tree, int, error) {
	if tree < 0 || tree >= len(e.Trees) {
		return nil, 0, fmt.Errorf("tree %d, want one of 0 to %d", tree, len(e.Trees)-1)
	}
	if levels <= 0 {
		levels = standard
	}
	return &e.Trees[tree], min(levels, mostLevels), nil
}

// title says what a tree is.
func (e *Ensemble) title(tree int) string {
	t := &e.Trees[tree]
	text := fmt.Sprintf("tree %d (iteration %d", tree, tree/e.Group)
	if e.Classes > 1 {
		text += fmt.Sprintf(", class %d", t.Class)
	}
	leaves := "leaves"
	if t.Leaves() == 1 {
		leaves = "leaf"
	}
	text += fmt.Sprintf("): %d %s, depth %d", t.Leaves(), leaves, t.Depth())
	if tree >= len(e.Scoring()) {
		text += ", does not score"
	}
	return text
}

// Text prints a tree as indented text, as many levels of splits as asked for (0: 16, at most 64): first the way of those for which the
// question is answered by yes. Names are in quotes where they have letters that are not printed. An error is one of w, or says
// that there is no such tree.
func (e *Ensemble) Text(w io.Writer, tree, levels int) error {
	t, levels, err := e.of(tree, levels, textLevels)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, e.title(tree))
	e.text(out, t, t.root(), "", 0, levels)
	return out.Flush()
}

func (e *Ensemble) text(out io.Writer, t *Tree, child int32, answer string, level, levels int) {
	line := strings.Repeat("  ", level) + answer
	switch {
	case child < 0:
		line += fmt.Sprintf("%.6g", t.LeafValue[^child])
	case level == levels:
		line += fmt.Sprintf("... %d leaves", t.below(child))
	default:
		line += e.question(t, int(child), 8) + " (" + t.missing(int(child)) + ")"
	}
	if stats := t.stats(child); stats != "" {
		line += "   " + stats
	}
	fmt.Fprintln(out, line)
	if child >= 0 && level < levels {
		e.text(out, t, t.Left[child], "yes: ", level+1, levels)
		e.text(out, t, t.Right[child], "no:  ", level+1, levels)
	}
}
