package graph

import (
	"fmt"

	"thole.example/matrix"
)

// Node is a layer in its place.
type Node struct {
	Layer Layer
	In    []int // the nodes whose outputs it reads, in order, all before it
}

// Model is a network: nodes in an order in which each comes after those it reads; the scores are the output of the
// last one. A Model holds the working memory of its layers, so each task builds its own; File may be shared.
type Model struct {
	Name  string
	Nodes []Node
	Loss  Loss
	Width int       // number of scores of a row that Loss works on
	Start []float64 // scores of examples without features before the first step, Width of them; nil: 0
	Bias  string    // the matrix of biases that are added to the scores as they are; "": none
	File  *File     // the network as graph.json describes it
}

// Params describes the parameter matrices of all layers, in the order of the nodes.
func (m *Model) Params() []Param {
	var all []Param
	for _, n := range m.Nodes {
		all = append(all, n.Layer.Params()...)
	}
	return all
}

// Metas is Params as matrices alone.
func (m *Model) Metas() []matrix.Meta {
	var all []matrix.Meta
	for _, p := range m.Params() {
		all = append(all, p.Meta)
	}
	return all
}

// JSON is the network in the grammar of graph.json, as File describes it.
func (m *Model) JSON() []byte { return m.File.JSON() }

// Check reports the first contradiction in m: nodes that read what does not stand before them, outputs that nothing
// reads, two layers or two matrices of one name.
func (m *Model) Check() error {
	if len(m.Nodes) == 0 || m.Loss == nil {
		return fmt.Errorf("model %q: %d layers and loss %v, want at least one layer and a loss", m.Name, len(m.Nodes), m.Loss)
	}
	names := map[string]bool{}
	once := func(what, name string) error {
		if key := what + name; !names[key] {
			names[key] = true
			return nil
		}
		return fmt.Errorf("model %q: two %s %q", m.Name, what, name)
	}
	read := make([]bool, len(m.Nodes))
	for i, n := range m.Nodes {
		if err := once("layers", n.Layer.Name()); err != nil {
			return err
		}
		for _, meta := range n.Layer.Params() {
			if err := once("matrices", meta.Name); err != nil {
				return err
			}
		}
		for _, in := range n.In {
			if in < 0 || in >= i {
				return fmt.Errorf("model %q: layer %q reads node %d, want one before %d", m.Name, n.Layer.Name(), in, i)
			}
			read[in] = true
		}
	}
	for i, n := range m.Nodes[:len(m.Nodes)-1] {
		if !read[i] {
			return fmt.Errorf("model %q: nothing reads layer %q", m.Name, n.Layer.Name())
		}
	}
	return nil
}
