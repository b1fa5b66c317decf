package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"thole.example/program"
)

// Text prints the operators in the order in which they run, with what they take and give, and the sizes of parameters.
func Text(w io.Writer, p *program.Program) error {
	out := bufio.NewWriter(w)
	for b := range p.Blocks {
		if len(p.Blocks) > 1 {
			fmt.Fprintf(out, "block %d within block %d\n", b, p.Blocks[b].Parent)
		}
		tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(tab, "#\tOPERATOR\tTAKES\tGIVES\tSETTINGS")
		vars := variables(p, b)
		for i := range p.Blocks[b].Ops {
			o := &p.Blocks[b].Ops[i]
			fmt.Fprintf(tab, "%d\t%s\t%s\t%s\t%s\n", i, plain(o.Type), plain(named(o.In, vars)), plain(named(o.Out, vars)),
				plain(attributes(o)))
		}
		if err := tab.Flush(); err != nil {
			return err
		}
	}
	return out.Flush()
}

// named are the variables in slots with their shapes, and the sizes of parameters.
func named(slots []program.Slot, vars map[string]*program.Var) string {
	var all []string
	for _, s := range slots {
		for _, name := range s.Args {
			v := vars[name]
			text := name
			if v != nil && v.Typed {
				text += " " + Shape(v)
			}
			if isParam(v) {
				if n, ok := v.Bytes(); ok {
					text += " (" + Size(n) + ")"
				}
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// plain is text of a file that a terminal may be shown.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
