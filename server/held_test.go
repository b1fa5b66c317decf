package server_test

import (
	"fmt"
	"strings"
	"testing"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
)

// TestNameLimits: names and texts that a server keeps have limits, and each error says which and how much.
func TestNameLimits(t *testing.T) {
	s := serve(t, nil)
	long := strings.Repeat("n", 2000)
	join := func(a rpc.Join) error {
		a.Tasks = 1
		return s.dial().refusal(rpc.Request{Op: rpc.OpJoin, Arg: arg(a)})
	}
	fails(t, "a job's name", join(rpc.Join{Job: long}), rpc.ErrRefused, `job "nnn`, "found 2000 bytes, want at most 1024")
	fails(t, "a worker's name", join(rpc.Join{Job: "j", Worker: long}), rpc.ErrRefused, `worker "nnn`, "found 2000 bytes")
	fails(t, "a client's name", join(rpc.Join{Job: "j", Client: long}), rpc.ErrRefused, `client "nnn`, "found 2000 bytes")
	fails(t, "a plan", join(rpc.Join{Job: "j", Plan: strings.Repeat("x=1 ", 20_000)}), rpc.ErrRefused, `job "j"`,
		"found 80000 bytes, want at most 65536")
	c := s.joinAs(rpc.Join{Job: "j", Tasks: 1})
	create := func(name string, attrs map[string]string) error {
		m := spec(name, 1, 10, matrix.RowDense)
		m.Meta.Attrs = attrs
		return c.refusal(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: []rpc.Spec{m}, Servers: 1})})
	}
	fails(t, "no name", create("", nil), rpc.ErrRefused, "matrix: no name; give it one")
	fails(t, "a matrix's name", create(long, nil), rpc.ErrRefused, `matrix "nnn`, "found 2000 bytes, want at most 1024")
	fails(t, "an attribute's name", create("m", map[string]string{long: ""}), rpc.ErrRefused, `matrix "m": attribute "nnn`, "found 2000 bytes")
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprint(i)] = strings.Repeat("v", 11_000)
	}
	fails(t, "attributes", create("m", many), rpc.ErrRefused, `matrix "m"`, "want at most 1048576")
	if err := create("m", map[string]string{"a": strings.Repeat("v", 1_000_000)}); err != nil {
		t.Errorf("attributes within the limit: %v", err)
	}
}

// TestMetadataCounted: what a job and its matrices are apart from values is counted while they are there, for the token and the job, too;
// what has no room is refused, and leaves nothing.
func TestMetadataCounted(t *testing.T) {
	s := limited(t, 16<<20)
	used := func() int64 { return s.server.Ledger.Used()[budget.Metadata] }
	c := s.joinAs(rpc.Join{Job: "j", Tasks: 1})
	ofJob := used()
	if ofJob < 1<<10 {
		t.Errorf("%d bytes are counted for a job", ofJob)
	}
	create := func(i int) error {
		m := floats(fmt.Sprint("m", i), 10, matrix.RowSparse)
		m.Meta.Attrs = map[string]string{"a": strings.Repeat("v", 1_000_000)}
		return c.refusal(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: []rpc.Spec{m}, Servers: 1})})
	}
	made := 0
	for ; made < 100; made++ {
		if err := create(made); err != nil {
			fails(t, "one matrix too many", err, rpc.ErrRefused, fmt.Sprintf(`matrix "m%d" would take`, made), "--memory is 16 MiB")
			break
		}
	}
	if made < 3 || made > 13 {
		t.Errorf("%d matrices with attributes of 1 MB each were made with 16 MiB", made)
	}
	if n := used() - ofJob; n < int64(made)*1_000_000 {
		t.Errorf("%d bytes are counted for %d matrices with attributes of 1 MB each", n, made)
	}
	before := used()
	if err := create(0); err != nil || used() != before { // which is there
		t.Errorf("a matrix that is there: %v, %d bytes in use, want %d", err, used(), before)
	}
	c.leave()
	comesTo(t, "in use when the job has ended", used, 0)
	c = s.joinAs(rpc.Join{Job: "j", Tasks: 1})
	if err := create(0); err != nil {
		t.Errorf("after the job has ended: %v", err)
	}
	c.leave()
	comesTo(t, "in use in the end", func() int64 { return s.server.Ledger.Used().Total() }, 0)
}

// TestManyMatrices: 3,000 matrices of a job count as what they take, and those beyond the memory are refused.
func TestManyMatrices(t *testing.T) {
	s := limited(t, 32<<20)
	c := s.joinAs(rpc.Join{Job: "j", Tasks: 1})
	made := 0
	var err error
	for ; made < 3000 && err == nil; made += 100 {
		var specs []rpc.Spec
		for i := range 100 {
			m := floats(fmt.Sprint("m", made+i), 1<<40, matrix.RowSparse)
			m.Partitioner = "hash"
			specs = append(specs, m)
		}
		err = c.refusal(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: specs, Servers: 1})})
	}
	fails(t, "3,000 matrices of 65 kB", err, rpc.ErrRefused, "would take", "beside")
	if made < 200 || made > 600 {
		t.Errorf("%d matrices were made, want as many as 32 MiB have room for", made)
	}
}
