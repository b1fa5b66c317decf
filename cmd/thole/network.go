package main

import (
	"fmt"
	"io"
	"strings"

	"thole.example/graph"
	"thole.example/internal/number"
)

// networkFinding is what inspect says of the network that a graph.json beside the matrices describes.
type networkFinding struct {
	Error  string         `json:"error,omitempty"` // why the file was not understood
	Data   string         `json:"data,omitempty"`
	Model  string         `json:"model,omitempty"`
	Layers []layerFinding `json:"layers,omitempty"`
}

type layerFinding struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Dims   []int    `json:"outputDims,omitempty"`
	Inputs []string `json:"inputs,omitempty"`
	More   string   `json:"more,omitempty"` // functions, factors, loss
}

// findNetwork looks at the files beside the matrices; nil if there is no graph.json among them.
func findNetwork(files map[string][]byte) *networkFinding {
	data, ok := files[graph.FileName]
	if !ok {
		return nil
	}
	f, err := graph.ParseJSON(data)
	if err != nil {
		return &networkFinding{Error: err.Error()}
	}
	n := &networkFinding{Model: f.Model.ModelType, Data: f.Data.Format}
	if f.Data.IndexRange > 0 {
		n.Data = strings.TrimPrefix(fmt.Sprintf("%s, %s", n.Data, number.Of(f.Data.IndexRange, "feature")), ", ")
	}
	for i := range f.Layers {
		n.Layers = append(n.Layers, describeLayer(&f.Layers[i]))
	}
	return n
}

func describeLayer(e *graph.Entry) layerFinding {
	l := layerFinding{Name: e.Name, Type: e.Type, Dims: e.OutputDims, Inputs: e.Inputs()}
	if e.OutputDim != 0 {
		l.Dims = []int{e.OutputDim}
	}
	var more []string
	for _, c := range []*graph.Choice{e.TransFunc, e.LossFunc} {
		if c != nil {
			more = append(more, c.Type)
		}
	}
	for _, c := range e.TransFuncs {
		more = append(more, c.Type)
	}
	if e.NumFactors > 0 {
		more = append(more, fmt.Sprintf("%d factors", e.NumFactors))
	}
	l.More = strings.Join(more, ", ")
	return l
}

func (n *networkFinding) print(out io.Writer) {
	if n.Error != "" {
		fmt.Fprintf(out, "  network: not understood: %s\n", n.Error)
		return
	}
	fmt.Fprintf(out, "  network: %d layers; %s; %s\n", len(n.Layers), orDash(n.Data), orDash(n.Model))
	for _, l := range n.Layers {
		line := fmt.Sprintf("    %s: %s", l.Name, l.Type)
		if len(l.Dims) > 0 {
			line += fmt.Sprintf(" %v", l.Dims)
		}
		if len(l.Inputs) > 0 {
			line += " of " + strings.Join(l.Inputs, ", ")
		}
		if l.More != "" {
			line += "; " + l.More
		}
		fmt.Fprintln(out, line)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
