// Package program reads and writes the topology of a PaddlePaddle model: which variables there are, and which operators
// make one from another.
//
// Two forms exist, and both become one [Program]:
//
//	ProgramDesc   releases 0.11 to 2.x, files __model__ and X.pdmodel: one protobuf message (framework.proto)
//	PIR           release 3.x, file X.json: a JSON text whose base_code.magic is "pir"
//
// A ProgramDesc is kept whole beside the Program, with the presence of fields and with fields that the schema does not
// know, so that a file of Paddle is written again byte for byte. Release 0.11, where the type of a variable is a number
// and no message, has its own messages at the end of the schema.
//
//	limits    256 MiB, 4 194 304 messages or JSON values, 64 blocks within each other
//	refused   lengths beyond the end, required fields that are missing, fields of another wire type than the schema's,
//	          blocks out of order, variables twice in a block, values used before they are made (PIR)
//	written   ProgramDesc of read programs as they were, of new ones from their blocks; PIR as it was or scrubbed, and of
//	          new programs of one block
//
// Parameters lie in other files, without names: Load finds both, and Params says in which order they come.
package program

//go:generate protoc -I .. --go_out=.. --go_opt=module=thole ../program/framework.proto

import (
	"cmp"
	"slices"

	"thole.example/matrix"
)

// name is how this package is called in errors.
const name = "program"

// Form is how a topology is stored.
type Form string

// The forms of a topology.
const (
	FormDesc  Form = "ProgramDesc"
	FormEarly Form = "ProgramDesc of release 0.11"
	FormPIR   Form = "PIR"
)

// Program is a topology. What Decode returned must not be changed; New makes one from blocks.
type Program struct {
	Form Form
	// Version is what the file says of the release that wrote it; HasVersion reports whether it says so at all. See
	// VersionText.
	Version    int64
	HasVersion bool
	// Blocks are in the order of their numbers; block 0 is the program, others belong to control flow.
	Blocks []Block

	desc  *ProgramDesc      // FormDesc
	early *EarlyProgramDesc // FormEarly
	text  []byte            // FormPIR
}

// Block is variables, and operators in the order in which they run.
type Block struct {
	Parent int      // number of the block around it, -1 for block 0
	Args   []string // variables that the operator around it gives a value each time it runs the block (PIR)
	Vars   []Var
	Ops    []Op
}

// Var is a variable. Names are unique in a block.
type Var struct {
	Name string
	Kind VarType_Type // DENSE_TENSOR, SELECTED_ROWS, FEED_MINIBATCH and others
	// Elem, Dims and LoDLevel are of tensors and selected rows (Typed). A dimension below 0 is not known before there is
	// input: it is -1, or -1 times other dimensions where an operator multiplies them without a look at the sign.
	Typed    bool
	Elem     VarType_Type
	Dims     []int64
	LoDLevel int
	// Persistable variables outlive a run: parameters, and the holders of feeds and fetches.
	Persistable  bool
	Parameter    bool
	NeedFeed     bool // need_check_feed: an input of the model
	StopGradient bool
}

// Op is an operator. In PIR its type has the dialect in front (pd_op.matmul), its slots have the names "0", "1", and
// so on, in the order of operands and results, and the numbers of its blocks are the attribute regions.
type Op struct {
	Type   string
	In     []Slot
	Out    []Slot
	Attrs  []Attr
	Target bool
}

// Slot is a named input or output of an operator: the variables that stand in it, often one, sometimes none.
type Slot struct {
	Name string
	Args []string
}

// Args are the variables of the named slot, nil if there is none.
func Args(slots []Slot, name string) []string {
	for _, s := range slots {
		if s.Name == name {
			return s.Args
		}
	}
	return nil
}

// Attr finds an attribute by name.
func (o *Op) Attr(name string) (Attr, bool) {
	for _, a := range o.Attrs {
		if a.Name == name {
			return a, true
		}
	}
	return Attr{}, false
}

// Blocks are the numbers of the blocks that the operator runs, one of control flow: the values of its attributes of these
// types.
func (o *Op) Blocks() (all []int64) {
	for _, a := range o.Attrs {
		if a.Type == AttrType_BLOCK || a.Type == AttrType_BLOCKS {
			numbers, _ := a.Ints()
			all = append(all, numbers...)
		}
	}
	return all
}

// Params are the variables whose values parameter files hold: persistable in any block, and neither feed, fetch, reader
// nor raw. They are sorted by name, which is their order in a combined file; each name stands once.
func (p *Program) Params() []Var {
	var all []Var
	for _, b := range p.Blocks {
		for _, v := range b.Vars {
			if v.Persistable && !slices.Contains(notSaved(), v.Kind) {
				all = append(all, v)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Var) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Var) bool { return a.Name == b.Name })
}

// notSaved are kinds of variables that have no values in files, persistable or not.
func notSaved() []VarType_Type {
	return []VarType_Type{VarType_FEED_MINIBATCH, VarType_FETCH_LIST, VarType_READER, VarType_RAW}
}

// Elems is the number of elements of the variable; ok is false if a dimension is unknown, or the product beyond int64.
func (v *Var) Elems() (n int64, ok bool) {
	n, ok = 1, v.Typed
	for _, d := range v.Dims {
		if d < 0 || !ok {
			return 0, false
		}
		n, ok = matrix.Cells(n, d)
	}
	return n, ok
}

// Bytes is the number of bytes that the values take; ok is false where Elems is, and for what is no number.
func (v *Var) Bytes() (n int64, ok bool) {
	n, ok = v.Elems()
	size := ElemSize(v.Elem)
	if !ok || size == 0 {
		return 0, false
	}
	return matrix.Cells(n, int64(size))
}

// ElemSize is the number of bytes of one element of the type, 0 for what is no element.
func ElemSize(t VarType_Type) int {
	switch t {
	case VarType_BOOL, VarType_UINT8, VarType_INT8, VarType_FP8_E4M3FN, VarType_FP8_E5M2:
		return 1
	case VarType_INT16, VarType_FP16, VarType_BF16:
		return 2
	case VarType_INT32, VarType_FP32:
		return 4
	case VarType_INT64, VarType_FP64, VarType_SIZE_T, VarType_COMPLEX64:
		return 8
	case VarType_COMPLEX128:
		return 16
	}
	return 0
}
