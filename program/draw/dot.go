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
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "digraph program {")
	fmt.Fprintln(out, `  node [shape=box, fontname="sans-serif", fontsize=10];`)
	fmt.Fprintln(out, `  edge [fontname="sans-serif", fontsize=8];`)
	for b := range p.Blocks {
		if len(p.Blocks) > 1 {
			fmt.Fprintf(out, "  subgraph cluster_%d {\n  label=\"block %d\";\n", b, b)
		}
		pic := build(p, b)
		for i, n := range pic.nodes {
			style := ""
			if n.kind != isOp {
				style = ", style=rounded"
			}
			fmt.Fprintf(out, "  b%d_%d [label=%s%s];\n", b, i, dotText(strings.Join(n.lines, "\n")), style)
		}
		for _, e := range pic.edges {
			fmt.Fprintf(out, "  b%d_%d -> b%d_%d [label=%s];\n", b, e.from, b, e.to, dotText(e.label))
		}
		if len(p.Blocks) > 1 {
			fmt.Fprintln(out, "  }")
		}
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotText is a string in quotes.
func dotText(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(plain(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
