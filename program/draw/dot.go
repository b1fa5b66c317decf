package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"thole.example/program"
)

// Dot prints the program in the language of Graphviz, a cluster for each block.
func Dot(w io.Writer, p *program.Program) error {
	s, out := newScope(p), bufio.NewWriter(w)
	fmt.Fprintln(out, "digraph program {")
	fmt.Fprintln(out, `  node [shape=box, fontname="sans-serif", fontsize=10];`)
	fmt.Fprintln(out, `  edge [fontname="sans-serif", fontsize=8];`)
	for b := range p.Blocks {
		if len(p.Blocks) > 1 {
			fmt.Fprintf(out, "  subgraph cluster_%d {\n  label=\"block %d\";\n", b, b)
		}
		g := build(s, b, len(p.Blocks[b].Ops))
		for i, n := range g.boxes {
			style := ""
			if n.kind != isOp {
				style = ", style=rounded"
			}
			var lines []string
			for _, l := range n.lines {
				lines = append(lines, l.text)
			}
			fmt.Fprintf(out, "  b%d_%d [label=%s%s];\n", b, i, dotText(lines...), style)
		}
		for _, v := range g.values {
			for _, to := range v.to {
				fmt.Fprintf(out, "  b%d_%d -> b%d_%d [label=%s];\n", b, v.from, b, to, dotText(v.label))
			}
		}
		if len(p.Blocks) > 1 {
			fmt.Fprintln(out, "  }")
		}
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotText is lines in quotes.
func dotText(lines ...string) string {
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(line, `\`, `\\`), `"`, `\"`)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
