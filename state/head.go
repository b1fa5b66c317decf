package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ssp"
)

// metaJSON is a Meta as it is written: as everywhere, but for what has names instead of numbers.
type metaJSON struct {
	matrix.Meta
	DType    string
	Layout   string
	Storage  string   `json:",omitempty"`
	ColTypes []string `json:",omitempty"`
}

type checkpointJSON struct {
	Job      string            `json:"job"`
	Plan     string            `json:"plan,omitempty"`
	Clock    int               `json:"clock"`
	Bound    ssp.Bound         `json:"bound,omitempty"`
	Matrices []matrixJSON      `json:"matrices"`
	Files    []json.RawMessage `json:"files"`
	ID       string            `json:"id,omitempty"`
	Base     Link              `json:"base,omitzero"`
	Moment   Moment            `json:"moment,omitzero"`
	Loose    []string          `json:"loose,omitempty"`
	Sums     map[string]string `json:"sums,omitempty"`
}

type matrixJSON struct {
	Meta        metaJSON        `json:"meta"`
	Partitioner string          `json:"partitioner"`
	Map         json.RawMessage `json:"map"`
	Bound       *ssp.Bound      `json:"bound,omitempty"`
	NonFinite   string          `json:"nonfinite,omitempty"`
	Clock       int             `json:"clock"`
	Records     []Extent        `json:"records"`
}

// writeCheckpoint writes the head.
func writeCheckpoint(w *Writer, c *Checkpoint) error {
	out := checkpointJSON{
		Job: c.Job, Plan: c.Plan, Clock: c.Clock, Bound: c.Bound, ID: c.ID, Base: c.Base, Moment: c.Moment, Loose: c.Loose, Sums: c.Sums,
	}
	for _, f := range c.Files {
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, text)
	}
	for i := range c.Matrices {
		m, err := matrixOf(&c.Matrices[i])
		if err != nil {
			return err
		}
		out.Matrices = append(out.Matrices, m)
	}
	return w.json(kindCheckpoint, out)
}

func matrixOf(m *Matrix) (matrixJSON, error) {
	text, err := json.Marshal(m.Map)
	meta := metaJSON{Meta: m.Meta, DType: m.Meta.DType.String(), Layout: m.Meta.Layout.String()}
	if m.Meta.Storage != matrix.Invalid {
		meta.Storage = m.Meta.Storage.String()
	}
	for _, d := range m.Meta.ColTypes {
		meta.ColTypes = append(meta.ColTypes, d.String())
	}
	return matrixJSON{meta, m.Partitioner, text, m.Bound, m.NonFinite, m.Clock, m.Records}, err
}

// identity is what a checkpoint is of, and not how it has that: a whole one that an increment was made to has the same.
type identity struct {
	Job      string            `json:"job"`
	Plan     string            `json:"plan"`
	Clock    int               `json:"clock"`
	Bound    ssp.Bound         `json:"bound"`
	ID       string            `json:"id"`
	Moment   Moment            `json:"moment"`
	Servers  int               `json:"servers"`
	Matrices []matrixJSON      `json:"matrices"`
	Sums     map[string]string `json:"sums"`
}

// Sum is the SHA-256, in hex, of what the checkpoint says that it is of: job, settings, clock, identity, moment, matrices, with
// the steps and columns of each partition, and loose objects. Those that are based on it name it, and Compact leaves it as it is.
func (c *Checkpoint) Sum() (string, error) {
	of := identity{
		Job: c.Job, Plan: c.Plan, Clock: c.Clock, Bound: c.Bound, ID: c.ID, Moment: c.Moment, Servers: len(c.Files), Sums: c.Sums,
	}
	for i := range c.Matrices {
		m, err := matrixOf(&c.Matrices[i])
		if err != nil {
			return "", err
		}
		m.Records = make([]Extent, len(m.Records))
		for id, r := range c.Matrices[i].Records {
			m.Records[id] = Extent{Steps: r.Steps, Stored: c.Stored(r), Candidates: r.Candidates}
		}
		of.Matrices = append(of.Matrices, m)
	}
	text, err := json.Marshal(of)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// Stored is how many columns a partition of the checkpoint has, with those that an increment does not repeat.
func (c *Checkpoint) Stored(r Extent) int64 {
	if c.Whole() {
		return r.Columns
	}
	return r.Stored
}

// readCheckpoint reads the head, and nothing may follow.
func readCheckpoint(r *Reader) (*Checkpoint, error) {
	var j checkpointJSON
	off, err := r.json(kindCheckpoint, &j)
	if err != nil {
		return nil, err
	}
	if r.More() {
		return nil, at(r.off, "%d bytes after the end of the checkpoint", r.end-r.off)
	}
	c := &Checkpoint{
		Job: j.Job, Plan: j.Plan, Clock: j.Clock, Bound: j.Bound, ID: j.ID, Base: j.Base, Moment: j.Moment, Loose: j.Loose, Sums: j.Sums,
	}
	for _, text := range j.Files {
		var f File
		if err := json.Unmarshal(text, &f); err != nil {
			return nil, at(off, "file: %w", err)
		}
		c.Files = append(c.Files, f)
	}
	for i := range j.Matrices {
		m, err := j.Matrices[i].matrix(len(c.Files))
		if err != nil {
			return nil, at(off, "%w", err)
		}
		c.Matrices = append(c.Matrices, m)
	}
	if err := c.check(); err != nil {
		return nil, at(off, "%w", err)
	}
	return c, nil
}

func (j *matrixJSON) matrix(servers int) (m Matrix, err error) {
	m = Matrix{Meta: j.Meta.Meta, Partitioner: j.Partitioner, Bound: j.Bound, NonFinite: j.NonFinite, Clock: j.Clock, Records: j.Records}
	if m.Meta.DType, err = typeOf(j.Meta.DType); err != nil {
		return m, fmt.Errorf("matrix %q: %w", m.Meta.Name, err)
	}
	if m.Meta.Storage = matrix.Invalid; j.Meta.Storage != "" {
		if m.Meta.Storage, err = typeOf(j.Meta.Storage); err != nil {
			return m, fmt.Errorf("matrix %q: %w", m.Meta.Name, err)
		}
	}
	switch j.Meta.Layout {
	case matrix.RowSparse.String():
		m.Meta.Layout = matrix.RowSparse
	case matrix.RowDense.String():
		m.Meta.Layout = matrix.RowDense
	default:
		return m, fmt.Errorf("matrix %q: layout %q, want dense or sparse", m.Meta.Name, j.Meta.Layout)
	}
	m.Meta.ColTypes = nil
	for _, name := range j.Meta.ColTypes {
		d, err := typeOf(name)
		if err != nil {
			return m, fmt.Errorf("matrix %q: %w", m.Meta.Name, err)
		}
		m.Meta.ColTypes = append(m.Meta.ColTypes, d)
	}
	if err := m.Meta.Check(); err != nil {
		return m, err
	}
	m.Map, err = part.Parse(j.Map, &m.Meta, servers)
	return m, err
}
