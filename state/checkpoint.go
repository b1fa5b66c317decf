package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ssp"
)

// Checkpoint says what a checkpoint has: what is known of the matrices without their values, and where in which file each
// record is.
type Checkpoint struct {
	Job      string
	Plan     string    // the settings of the job, words "name=value"; "": not known
	Clock    int       // of the task that asked for it
	Bound    ssp.Bound // of matrices that have none of their own: under ASP the checkpoint is not of one moment
	Matrices []Matrix
	Files    []File // by server

	// Moment is where the training was, and Loose names the other objects in its tree, as the settings of the training. Sums are
	// the SHA-256 of these in hex, by name: Commit fills them in.
	Moment Moment
	Loose  []string
	Sums   map[string]string

	// ID is what tells this checkpoint from others at its path, if increments may be based on it.
	ID string
	// Base is the checkpoint that this one is based on, which has only what has changed since; zero: it is a whole one.
	Base Link
}

// Whole reports whether nothing has to be read before the checkpoint.
func (c *Checkpoint) Whole() bool { return c.Base == Link{} }

// Matrix is a matrix of a checkpoint.
type Matrix struct {
	Meta        matrix.Meta
	Partitioner string
	Map         *part.Map
	Bound       *ssp.Bound // nil: that of the job
	NonFinite   string     // what was to be done with values that are not finite
	Clock       int        // of the task that asked for the checkpoint
	Records     []Extent   // by partition; each is in the file of the server that Map says
}

// Steps is how many steps the matrix's rule has made: under ASP, where partitions may differ, the most of them.
func (m *Matrix) Steps() (n int64) {
	for _, r := range m.Records {
		n = max(n, r.Steps)
	}
	return n
}

// Extent is where in its file a record is, how many steps its partition has made, and how many columns it has if it is sparse.
type Extent struct {
	Off     int64 `json:"off"`
	Size    int64 `json:"size"`
	Steps   int64 `json:"steps,omitempty"`
	Columns int64 `json:"columns,omitempty"`
	// Candidates is how many columns it has that are not made yet.
	Candidates int64 `json:"candidates,omitempty"`
	// Stored is, in an increment, how many columns the partition has, with those that have not changed.
	Stored int64 `json:"stored,omitempty"`
	// Sum is the SHA-256 of the heads of the record's frames, in hex; "": it is not known.
	Sum string `json:"sum,omitempty"`
}

// File is a server's file.
type File struct {
	Size int64  `json:"size"`
	Job  int64  `json:"job"`           // byte at which the state of the job begins, which goes to the end
	Sum  string `json:"sum,omitempty"` // SHA-256 of the heads of the job's frames, in hex; "": it is not known
}

// Record is the place of one record, as whoever wrote it tells.
type Record struct {
	Matrix    string `json:"matrix"`
	Partition int    `json:"partition"`
	Extent
}

// Part is what a server tells of its file: whoever commits a checkpoint needs those of all servers. It travels as JSON.
type Part struct {
	Server  int      `json:"server"`
	File    File     `json:"file"`
	Records []Record `json:"records"`
	Base    string   `json:"base,omitempty"` // identity of the checkpoint that they are based on
}

// HeadName is the object of the head within the checkpoint, its checkpoint frame: where that lies is a checkpoint.
const HeadName = "checkpoint"

// name is the object of a server's file.
func name(server int) string { return fmt.Sprintf("server.%d", server) }

// collect puts what the servers told into the checkpoint, which has the matrices. Every record has to be there once, from the
// server that has the partition.
func (c *Checkpoint) collect(parts []Part, servers int) error {
	if len(parts) != servers {
		return fmt.Errorf("parts of %d servers, want %d", len(parts), servers)
	}
	c.Files = make([]File, servers)
	there := make([]bool, servers)
	byName := map[string]*Matrix{}
	for i := range c.Matrices {
		m := &c.Matrices[i]
		m.Records = make([]Extent, len(m.Map.Owners))
		byName[m.Meta.Name] = m
	}
	for _, p := range parts {
		if p.Server < 0 || p.Server >= servers || there[p.Server] {
			return fmt.Errorf("part of server %d, want one of each of %d", p.Server, servers)
		}
		if base := c.Base.ID; p.Base != base {
			return fmt.Errorf("server %d has what changed since checkpoint %q, want %q: the base was replaced meanwhile", p.Server, p.Base, base)
		}
		there[p.Server], c.Files[p.Server] = true, p.File
		for _, r := range p.Records {
			m := byName[r.Matrix]
			outside := m == nil || r.Partition < 0 || r.Partition >= len(m.Records)
			if outside || m.Map.Owners[r.Partition] != p.Server || m.Records[r.Partition].Off != 0 {
				return fmt.Errorf("server %d has partition %d of matrix %q, want each of its own once", p.Server, r.Partition, r.Matrix)
			}
			m.Records[r.Partition] = r.Extent
		}
	}
	return c.check()
}

// check says what cannot be.
func (c *Checkpoint) check() error {
	if err := errors.Join(c.checkBase(), c.checkLoose()); err != nil {
		return err
	}
	if c.Bound < 0 {
		return fmt.Errorf("bound %d, want 0 or more", c.Bound)
	}
	for i, f := range c.Files {
		if f.Job < int64(len(magic)) || f.Size < f.Job {
			return fmt.Errorf("file %d of %d bytes with the state of the job at %d", i, f.Size, f.Job)
		}
	}
	seen := map[string]bool{}
	for i := range c.Matrices {
		m := &c.Matrices[i]
		if seen[m.Meta.Name] {
			return fmt.Errorf("two matrices %q", m.Meta.Name)
		}
		seen[m.Meta.Name] = true
		if len(m.Records) != len(m.Map.Owners) {
			return fmt.Errorf("matrix %q: records of %d partitions, want %d", m.Meta.Name, len(m.Records), len(m.Map.Owners))
		}
		for id, r := range m.Records {
			f := c.Files[m.Map.Owners[id]]
			if r.Columns < 0 || r.Columns > r.Size/8 || r.Candidates < 0 || r.Candidates > r.Size/24 || r.Stored < 0 {
				return fmt.Errorf("matrix %q: partition %d has %d columns and %d candidates in %d bytes",
					m.Meta.Name, id, r.Columns, r.Candidates, r.Size)
			}
			if r.Off < int64(len(magic)) || r.Size <= 0 || r.Off > f.Job || r.Size > f.Job-r.Off || r.Steps < 0 {
				return fmt.Errorf("matrix %q: partition %d is %d bytes at byte %d after %d steps, want a record below byte %d",
					m.Meta.Name, id, r.Size, r.Off, r.Steps, f.Job)
			}
		}
	}
	return c.checkPlaces()
}

// checkPlaces wants the records of each file to follow each other, so that every byte of it is of one of them or of the job.
func (c *Checkpoint) checkPlaces() error {
	all := make([][]Extent, len(c.Files))
	for i := range c.Matrices {
		m := &c.Matrices[i]
		for id, r := range m.Records {
			all[m.Map.Owners[id]] = append(all[m.Map.Owners[id]], r)
		}
	}
	for server, records := range all {
		slices.SortFunc(records, func(a, b Extent) int { return cmp.Compare(a.Off, b.Off) })
		next := int64(len(magic))
		for _, r := range records {
			if r.Off != next {
				return fmt.Errorf("file %d has a record at byte %d, want one at %d, after the one before", server, r.Off, next)
			}
			next += r.Size
		}
		if job := c.Files[server].Job; job != next {
			return fmt.Errorf("file %d has the state of the job at byte %d, want it at %d, after the records", server, job, next)
		}
	}
	return nil
}

// Find is the matrix of that name.
func (c *Checkpoint) Find(name string) (*Matrix, error) {
	var names []string
	for i := range c.Matrices {
		if c.Matrices[i].Meta.Name == name {
			return &c.Matrices[i], nil
		}
		names = append(names, c.Matrices[i].Meta.Name)
	}
	return nil, fmt.Errorf("matrix %q, there are %q: %w", name, names, format.ErrMatrix)
}

// Fits tells why a matrix cannot go on from this one: what decides which values it has, and how its rule changes them, has to be
// the same. Settings of the rule, labels and partitions may differ, there may be more columns after those it has, and a dense matrix
// may go on as a sparse one, which has room for any columns.
func (m *Matrix) Fits(to *matrix.Meta) error {
	from := &m.Meta
	type facts struct {
		rows  int64
		dtype matrix.DType
		rule  string
	}
	of := func(m *matrix.Meta) facts { return facts{m.Rows, m.DType, m.Rule} }
	opens := from.Layout == matrix.RowDense && to.Layout == matrix.RowSparse && to.Rect().Cols.Contains(from.Rect().Cols)
	same := from.Layout == to.Layout && from.ColLo == to.ColLo && from.Cols <= to.Cols
	if of(from) != of(to) || !opens && !same || !sameInit(from, to) {
		return fmt.Errorf("matrix %q of the checkpoint is %s, and cannot fill one that is %s: %w",
			from.Name, describe(from), describe(to), errFit)
	}
	return nil
}

// sameInit reports whether both have the same initial values. Constants do not count where the checkpoint has every cell: a bias begins
// with the base rate of the labels, which are others in another training.
func sameInit(from, to *matrix.Meta) bool {
	constant := func(m *matrix.Meta) bool { return m.Init.Kind == "" || m.Init.Kind == "constant" }
	whole := from.Layout == matrix.RowDense && from.Cols == to.Cols
	return from.Init.Equal(to.Init) || whole && constant(from) && constant(to)
}

func describe(m *matrix.Meta) string {
	rule := "without a rule"
	if m.Rule != "" {
		rule = "with rule " + m.Rule
	}
	init := "0"
	if m.Init.Kind != "" {
		init = fmt.Sprintf("%s(%v, seed %d)", m.Init.Kind, m.Init.Scale, m.Init.Seed)
	}
	return fmt.Sprintf("%v at %v of %v %s, initially %s", m.Layout, m.Rect(), m.DType, rule, init)
}

var errFit = errors.New("want the same")
