package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"thole.example/program"
)

// How much stands in one cell of the text.
const (
	maxCell  = 240 // letters of settings
	maxNamed = 16  // variables
)

// Text prints the operators in the order in which they run, with what they take and give, and the sizes of parameters.
func Text(w io.Writer, p *program.Program) error {
	s, out := newScope(p), bufio.NewWriter(w)
	for b := range p.Blocks {
		if len(p.Blocks) > 1 {
			fmt.Fprintf(out, "block %d within block %d\n", b, p.Blocks[b].Parent)
		}
		tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(tab, "#\tOPERATOR\tTAKES\tGIVES\tSETTINGS")
		for i := range p.Blocks[b].Ops {
			o := &p.Blocks[b].Ops[i]
			fmt.Fprintf(tab, "%d\t%s\t%s\t%s\t%s\n", i, plain(cut(o.Type, maxName)), s.named(b, o.In), s.named(b, o.Out),
				cut(settings(all(o)), maxCell))
		}
		if err := tab.Flush(); err != nil {
			return err
		}
	}
	return out.Flush()
}

// named are the variables in slots with their shapes, and the sizes of parameters.
func (s *scope) named(block int, slots []program.Slot) string {
	var words []string
	n := 0
	for _, slot := range slots {
		for _, name := range slot.Args {
			if n++; n > maxNamed {
				continue
			}
			v := s.find(block, name)
			text := plain(cut(name, maxName))
			if v != nil && v.Typed {
				text += " " + cut(Shape(v), maxName)
			}
			if isParam(v) {
				if size, ok := v.Bytes(); ok {
					text += " (" + Size(size) + ")"
				}
			}
			words = append(words, text)
		}
	}
	if more := n - len(words); more > 0 {
		words = append(words, fmt.Sprintf("… %d more", more))
	}
	return strings.Join(words, ", ")
}
