package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/paddle"
	"thole.example/interp"
	"thole.example/pack"
	"thole.example/program"
	"thole.example/program/draw"
)

// topologyFinding is what inspect says of a network.
type topologyFinding struct {
	File       string        `json:"file"`
	Form       string        `json:"form"`
	Version    string        `json:"version"`
	Bytes      int           `json:"bytes"`
	Blocks     int           `json:"blocks"`
	Operators  int           `json:"operators"`
	Inputs     []string      `json:"inputs"`
	Outputs    []string      `json:"outputs"`
	Parameters int           `json:"parameters"`
	Values     int64         `json:"values"`     // of all parameters
	ParamBytes int64         `json:"paramBytes"` // as the topology says
	Unknown    []string      `json:"unknownOperators,omitempty"`
	Leaks      []leakFinding `json:"leaks,omitempty"`

	program *program.Program
}

// leakFinding is what a topology tells of its training by one attribute.
type leakFinding struct {
	Attr      string  `json:"attribute"`
	Operators int     `json:"operators"`
	Bytes     int     `json:"bytes"` // with names, tags and lengths
	Text      int     `json:"text"`  // of these the bytes of text
	Share     float64 `json:"share"` // of the text in the topology
	First     string  `json:"first,omitempty"`
}

// topology loads the model of a path; nil if there is no topology at it. A damaged topology is an error.
func (e *env) topology(ctx context.Context, path string) (blob.Bucket, *program.Model, error) {
	b, m, err := e.loadTopology(ctx, path)
	if b != nil && err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrLimit) {
		return b, nil, nil
	}
	return b, m, err
}

// loadTopology loads the model of a path through a view in which it does not change. The bucket is nil if the path has no topology. Each
// call closes the view of the call before.
func (e *env) loadTopology(ctx context.Context, path string) (b blob.Bucket, m *program.Model, err error) {
	err = blob.Again(ctx, func() (err error) {
		b = nil
		in, name, err := e.input(ctx, path)
		if err == nil {
			name, err = program.Resolve(ctx, in, name)
		}
		if err != nil {
			return err
		}
		v, err := format.Pin(ctx, in, name)
		if err != nil {
			return err
		}
		if e.pinned != nil {
			e.pinned.Close()
		}
		e.pinned = v
		if b, err = pack.Inside(ctx, v, name); err != nil {
			return err
		}
		m, err = program.Load(ctx, b, name)
		return err
	})
	return b, m, err
}

// needTopology is topology where there must be one.
func (e *env) needTopology(ctx context.Context, path string) (blob.Bucket, *program.Model, error) {
	b, m, err := e.loadTopology(ctx, path)
	if b != nil && errors.Is(err, format.ErrUnknown) {
		if p, lost := e.locate(ctx, path, "", nil); lost == nil {
			err = fmt.Errorf("%s holds matrices (format %s), want a model of Paddle, which has its network too; "+
				"thole export makes one of what thole trained", path, p.Info().Name)
		}
	}
	return b, m, err
}

// maxDamaged is the size up to which a damaged topology is explained.
const maxDamaged = 16 << 20

// explainTopology prints a topology that has no parameters beside it, or one that is damaged; known is false for all else.
func (e *env) explainTopology(ctx context.Context, path string, p *dump.Printer) (known bool, err error) {
	b, m, err := e.topology(ctx, path)
	if err == nil && m != nil {
		if m.Params != "" || m.Of != nil {
			return false, nil
		}
		p.Head("file %s: topology, %s, %s", m.Path, m.Program.Form, m.Program.VersionText())
		return true, program.Explain(m.Data, p)
	}
	if err == nil || b == nil {
		return false, nil
	}
	_, name, _ := e.bucketOf(ctx, path)
	data, unread := blob.ReadAll(ctx, b, name, maxDamaged)
	if unread != nil {
		return false, nil // a folder, whose error names the file
	}
	_ = program.Explain(data, p) // err says what is wrong
	return true, err
}

// bucketOf is where a path lies; a model that is packed in one file is a folder in it.
func (e *env) bucketOf(ctx context.Context, path string) (blob.Bucket, string, error) {
	b, name, err := e.input(ctx, path)
	if err == nil {
		name, err = program.Resolve(ctx, b, name)
	}
	if err == nil {
		b, err = pack.Inside(ctx, b, name)
	}
	return b, name, err
}

// findModel is find for a path that holds a topology.
func (s *source) findModel(ctx context.Context, e *env, path string, deep bool, b blob.Bucket, m *program.Model) (*finding, error) {
	t, err := describeTopology(m)
	if err != nil {
		return nil, err
	}
	f := &finding{Path: path, Format: "paddle", Dialect: "topology: " + t.Form + ", " + t.Version, Topology: t, Quick: !deep}
	if _, name, err := e.bucketOf(ctx, path); err == nil {
		if err := f.weigh(ctx, b, name); err != nil {
			return nil, err
		}
	}
	if m.Params == "" && m.Of == nil {
		if t.Parameters > 0 {
			f.Notes = append(f.Notes, "no parameters beside the topology")
		}
		return f, nil
	}
	r, err := paddle.OpenParams(ctx, b, m)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f.Notes = append(f.Notes, r.Notes()...)
	return f, f.describeAll(ctx, e, r)
}

// drawTopology prints a picture of the network, as SVG or for Graphviz.
func drawTopology(ctx context.Context, e *env, path string, svg bool) error {
	_, m, err := e.needTopology(ctx, path)
	if err != nil {
		return err
	}
	if svg {
		return draw.SVG(e.out, m.Program)
	}
	return draw.Dot(e.out, m.Program)
}

func describeTopology(m *program.Model) (*topologyFinding, error) {
	p := m.Program
	t := &topologyFinding{File: m.Path, Form: string(p.Form), Version: p.VersionText(), Blocks: len(p.Blocks), program: p}
	leaks, whole, err := p.Leaks()
	if err != nil {
		return nil, err
	}
	t.Bytes = whole
	for _, l := range leaks {
		t.Leaks = append(t.Leaks, leakFinding{l.Attr, l.Ops, l.Bytes, l.Text, float64(l.Text) / float64(whole), l.Shown})
	}
	for i := range p.Blocks {
		t.Operators += len(p.Blocks[i].Ops)
	}
	for _, v := range p.Params() {
		t.Parameters++
		n, _ := v.Elems()
		size, _ := v.Bytes()
		t.Values, t.ParamBytes = t.Values+n, t.ParamBytes+size
	}
	for _, u := range interp.Unknown(p) {
		t.Unknown = append(t.Unknown, u.String())
	}
	t.Inputs, t.Outputs = ends(p)
	return t, nil
}

// ends are the inputs and outputs of the first block, with shapes, in the order that col says.
func ends(p *program.Program) (in, out []string) {
	vars := map[string]*program.Var{}
	for i := range p.Blocks[0].Vars {
		vars[p.Blocks[0].Vars[i].Name] = &p.Blocks[0].Vars[i]
	}
	list := func(slots func(o *program.Op) []program.Slot, types ...string) (all []string) {
		var ops []*program.Op
		for i := range p.Blocks[0].Ops {
			if o := &p.Blocks[0].Ops[i]; slices.Contains(types, o.Type) {
				ops = append(ops, o)
			}
		}
		slices.SortStableFunc(ops, func(a, b *program.Op) int { return cmp.Compare(column(a), column(b)) })
		for _, o := range ops {
			for _, s := range slots(o) {
				for _, name := range s.Args {
					called := name
					if a, ok := o.Attr("name"); ok && o.Type == program.PIROutput {
						called, _ = a.Value.(string)
					}
					all = append(all, called+" "+draw.Shape(vars[name]))
				}
			}
		}
		return all
	}
	gives, takes := func(o *program.Op) []program.Slot { return o.Out }, func(o *program.Op) []program.Slot { return o.In }
	return list(gives, "feed", "pd_op.data", "pd_op.feed"), list(takes, "fetch", "pd_op.fetch")
}

// column is the number of a feed or fetch among its like, 0 where it says none.
func column(o *program.Op) int64 {
	a, _ := o.Attr("col")
	n, _ := a.Value.(int64)
	return n
}

// print shows the network and what it tells of its training.
func (t *topologyFinding) print(out io.Writer) error {
	fmt.Fprintf(out, "  topology: %s, %d bytes, %d operators\n", t.File, t.Bytes, t.Operators)
	fmt.Fprintf(out, "  parameters: %d of %d values, %s\n", t.Parameters, t.Values, draw.Size(t.ParamBytes))
	for _, name := range t.Inputs {
		fmt.Fprintf(out, "  input: %s\n", name)
	}
	for _, name := range t.Outputs {
		fmt.Fprintf(out, "  output: %s\n", name)
	}
	if len(t.Unknown) > 0 {
		fmt.Fprintf(out, "  thole run does not know: %s\n", strings.Join(t.Unknown[:min(8, len(t.Unknown))], ", "))
	}
	total := 0
	for _, l := range t.Leaks {
		total += l.Bytes
	}
	if total > 0 {
		fmt.Fprintf(out, "  leak: %d of %d bytes (%.0f%%) tell of the training; thole scrub removes them\n",
			total, t.Bytes, 100*float64(total)/float64(t.Bytes))
	}
	for _, l := range t.Leaks {
		fmt.Fprintf(out, "    %s: %d bytes in %d operators", l.Attr, l.Bytes, l.Operators)
		if l.First != "" {
			fmt.Fprintf(out, ", %d of them text (%.0f%% of the topology) as %s", l.Text, 100*l.Share, l.First)
		}
		fmt.Fprintln(out)
	}
	return draw.Text(out, t.program)
}
