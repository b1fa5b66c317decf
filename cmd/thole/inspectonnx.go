package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/program/onnx"
)

// onnxEnding is the ending of files of ONNX.
const onnxEnding = ".onnx"

// isONNX reports whether a path is to be read as a file of ONNX, by its ending; a folder may end so, too.
func (e *env) isONNX(ctx context.Context, path string) bool {
	if !strings.EqualFold(blob.Ext(path), onnxEnding) {
		return false
	}
	b, name, err := e.input(ctx, path)
	if err != nil {
		return false
	}
	infos, err := b.List(ctx, name)
	return err == nil && slices.ContainsFunc(infos, func(i blob.Info) bool { return i.Name == name })
}

// findONNX is what inspect says of a file of ONNX.
func findONNX(ctx context.Context, e *env, path string) (*finding, error) {
	b, name, err := e.input(ctx, path)
	if err != nil {
		return nil, err
	}
	o, err := b.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	f := &finding{Path: path, Format: "onnx", Quick: true}
	if f.ONNX, err = onnx.Read(path, o, o.Size()); err != nil {
		return nil, err
	}
	var sets []string
	for _, o := range f.ONNX.Opsets {
		sets = append(sets, strings.TrimSpace(fmt.Sprintf("%s %d", clipped(o.Domain, shortText), o.Version)))
	}
	f.Dialect = fmt.Sprintf("ir_version %d, opset %s", f.ONNX.IR, strings.Join(sets, ", "))
	if f.ONNX.Producer != "" {
		f.Dialect += ", by " + clipped(f.ONNX.Producer, longText)
	}
	return f, f.weigh(ctx, b, name)
}

// printONNX prints what is fed and comes out, the metadata, how many nodes there are of each operator, and the initializers.
func printONNX(out io.Writer, s *onnx.Summary) error {
	for _, p := range s.Inputs {
		fmt.Fprintf(out, "  input: %s\n", clipped(p.String(), longText))
	}
	for _, p := range s.Outputs {
		fmt.Fprintf(out, "  output: %s\n", clipped(p.String(), longText))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Meta)) {
		fmt.Fprintf(out, "  metadata: %s: %s\n", clipped(key, longText), clipped(s.Meta[key], longText))
	}
	var ops []string
	for _, name := range slices.Sorted(maps.Keys(s.Operators)) {
		ops = append(ops, fmt.Sprintf("%s %d", clipped(name, longText), s.Operators[name]))
	}
	fmt.Fprintf(out, "  nodes: %d: %s\n", s.Nodes, strings.Join(ops, ", "))
	if len(s.Initializers) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\ninitializer\ttype\tsize\tbytes\tvalues")
	for _, t := range s.Initializers {
		where, size := "within", "one value"
		if len(t.Dims) > 0 {
			size = strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Dims), " ", " x "), "[]")
		}
		if t.File != "" {
			where = "in " + clipped(t.File, longText)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", clipped(t.Name, longText), t.Type, size, format.Bytes(t.Bytes), where)
	}
	return w.Flush()
}
