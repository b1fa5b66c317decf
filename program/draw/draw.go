// Package draw shows the topology of a Paddle model: as text with shapes and sizes of parameters, as a graph for
// Graphviz, and as a picture (SVG) that it lays out itself.
//
// In pictures a box is an operator, with the settings that say what it computes and the parameters that it takes; a line
// is a variable that goes from the operator that makes it, through its label, to those that take it. Lines go down: an
// operator stands below all that it waits for. A picture is made in steps, each in a file of its own:
//
//	graph.go     boxes and the values between them; constants and parameters become lines of the boxes that take them
//	rows.go      which operators stand side by side
//	columns.go   where a long picture begins a new column
//	lines.go     every value gets its way through the rows it passes
//	order.go     the order within rows
//	threads.go   what stands straight below each other
//	place.go     coordinates
//	svg.go       the picture as a file
//
// A label is a node as boxes are, with room of its own. So no label lies on a box, on another label or on a line.
package draw

import (
	"fmt"
	"strconv"
	"strings"

	"thole.example/program"
)

// Shape is the dimensions of a variable as text, "?" if they are not known: float32[-1,13]. Of more than 16 the first stand
// there.
func Shape(v *program.Var) string {
	if v == nil || !v.Typed {
		return "?"
	}
	return ElemName(v.Elem) + several(v.Dims, func(d int64) string { return strconv.FormatInt(d, 10) })
}

// ElemName is the name of an element type as NumPy says it: float32.
func ElemName(t program.VarType_Type) string {
	text := strings.ToLower(t.String())
	switch {
	case strings.HasPrefix(text, "fp8"):
		return "float8" + text[3:]
	case strings.HasPrefix(text, "fp"):
		return "float" + text[2:]
	case text == "bf16":
		return "bfloat16"
	}
	return text
}

// Size is a number of bytes for people: 52 B, 1.2 MB.
func Size(n int64) string {
	v, unit := float64(n), 0
	for ; v >= 999.5; unit++ { // which three digits round up
		v /= 1000
	}
	return fmt.Sprintf("%.3g %s", v, []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}[unit])
}
