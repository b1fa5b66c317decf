package server

import (
	"fmt"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
)

// held is what a job has on this server as long as it lasts, apart from the values of matrices: bytes that are counted in the ledger and
// in accounts. The zero held is nothing.
type held struct {
	charge budget.Charge
	to     accounts
	bytes  int64
}

// hold counts n bytes of a class in the ledger and in the accounts, or in neither if one of them has no room. Everything of a job that
// lasts is counted here, but for the tables, which grow (see accounts).
func (s *Server) hold(c budget.Class, n int64, to accounts) (held, error) {
	if err := to.take(n, 0); err != nil {
		return held{}, err
	}
	charge, err := s.Ledger.Hold(c, n)
	if err != nil {
		to.add(-n, 0)
		return held{}, err
	}
	return held{charge, to, n}, nil
}

// force is hold whether or not there is room.
func (s *Server) force(c budget.Class, n int64, to accounts) held {
	return held{charge: s.Ledger.Force(c, n)}.with(n, to)
}

// with counts what is in the ledger in accounts, too.
func (h held) with(n int64, to accounts) held {
	to.add(n, 0)
	h.to, h.bytes = to, n
	return h
}

// release gives back what is held. What was released is nothing.
func (h *held) release() {
	h.charge.Release()
	h.to.add(-h.bytes, 0)
	*h = held{}
}

// What this server takes for things that have no values yet, about, in bytes: structures, maps and slices, without texts.
const (
	jobBytes             = 6 << 10
	taskBytes            = 64 // of each task that a job has, joined or not
	matrixBytes          = 2 << 10
	densePartitionBytes  = 2 << 10
	sparsePartitionBytes = 3400
	functionBytes        = 4 << 10
)

// sizeOfJob is what a job takes that begins with a Join.
func sizeOfJob(a *rpc.Join) int64 {
	return jobBytes + 2*int64(len(a.Job)+len(a.Plan)) + taskBytes*int64(min(max(a.Tasks, 0), 1<<16))
}

// decodedFrom is from how many bytes on the argument of a request is counted once more when it is decoded.
const decodedFrom = 16 << 10

// decoded counts what is made of a large argument when it is decoded, until the request is answered.
func (s *Server) decoded(x *rpc.Exchange) {
	if n := int64(len(x.Arg)); n >= decodedFrom {
		x.Hold(s.Ledger.Force(budget.Frames, 2*n))
	}
}

// bytes is what the matrix takes apart from its values: its description, which is kept as text and as a value, and its partitions.
func (s *store) bytes() int64 {
	each := int64(densePartitionBytes)
	if s.meta.Layout == matrix.RowSparse {
		each = sparsePartitionBytes
	}
	return matrixBytes + 2*int64(len(s.spec)) + each*s.here() + 8*int64(len(s.partitions))
}

// Limits of names and texts, in bytes.
const (
	nameLimit       = 1 << 10  // of a job, a matrix, an attribute, a function or a task
	planLimit       = 64 << 10 // of the settings of a job
	attributesLimit = 1 << 20  // of the attributes of a matrix, names and values
)

// checkName says what is wrong with a name; what says whose it is.
func checkName(what, name string) error {
	if len(name) > nameLimit {
		return fmt.Errorf("%s %.40q...: the name is too long (found %d bytes, want at most %d): %w", what, name, len(name), nameLimit,
			rpc.ErrRefused)
	}
	return nil
}

// checkTexts says what is wrong with the names and the attributes of a matrix.
func checkTexts(m *matrix.Meta) error {
	if m.Name == "" {
		return fmt.Errorf("matrix: no name; give it one: %w", rpc.ErrRefused)
	}
	if err := checkName("matrix", m.Name); err != nil {
		return err
	}
	sum := 0
	for name, value := range m.Attrs {
		if err := checkName(fmt.Sprintf("matrix %q: attribute", m.Name), name); err != nil {
			return err
		}
		sum += len(name) + len(value)
	}
	if sum > attributesLimit {
		return fmt.Errorf("matrix %q: the attributes are too large (found %d bytes, want at most %d): %w", m.Name, sum, attributesLimit,
			rpc.ErrRefused)
	}
	return nil
}

// checkJoin says what is wrong with the texts of a Join.
func checkJoin(a *rpc.Join) error {
	for _, one := range []struct{ what, name string }{{"job", a.Job}, {"worker", a.Worker}, {"client", a.Client}} {
		if err := checkName(one.what, one.name); err != nil {
			return err
		}
	}
	if len(a.Plan) > planLimit {
		return fmt.Errorf("job %q: the settings are too long (found %d bytes, want at most %d): %w", a.Job, len(a.Plan), planLimit,
			rpc.ErrRefused)
	}
	return nil
}
