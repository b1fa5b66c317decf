package program

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"thole.example/format"
)

// Sniff tells which form of topology the bytes begin, "" if none. It looks at the first bytes of a ProgramDesc and at
// the keys of a JSON text; only Decode says whether the rest is sound.
func Sniff(data []byte) Form {
	switch {
	case looksLikeDesc(data) && isEarly(data):
		return FormEarly
	case looksLikeDesc(data):
		return FormDesc
	case looksLikePIR(data):
		return FormPIR
	}
	return ""
}

// Decode reads a topology. Errors are *wire.At, or wrap the errors of package format. data is not kept.
func Decode(data []byte) (*Program, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%d bytes, want at most %d: %w", len(data), maxBytes, format.ErrLimit)
	}
	switch Sniff(data) {
	case FormPIR:
		return decodePIR(data)
	case FormEarly:
		return decodeEarly(data)
	case FormDesc:
		return decodeDesc(data)
	}
	return nil, failAt(0, "%d bytes that begin with % x, want a ProgramDesc or a PIR text", len(data), data[:min(8, len(data))])
}

// unmarshal reads a message whose bytes are checked first.
func unmarshal(data []byte, m proto.Message) error {
	c := &checker{left: maxMessages}
	if err := c.message(data, 0, m.ProtoReflect().Descriptor()); err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{RecursionLimit: 64}).Unmarshal(data, m); err != nil {
		return fmt.Errorf("%w: %w", format.ErrCorrupt, err)
	}
	return nil
}

func decodeDesc(data []byte) (*Program, error) {
	d := &ProgramDesc{}
	if err := unmarshal(data, d); err != nil {
		return nil, err
	}
	p := &Program{Form: FormDesc, desc: d}
	if d.Version != nil {
		p.Version, p.HasVersion = d.Version.GetVersion(), true
	}
	for i, b := range d.Blocks {
		if err := checkBlock(i, b.GetIdx(), b.GetParentIdx()); err != nil {
			return nil, err
		}
		block := Block{Parent: int(b.GetParentIdx())}
		for _, v := range b.Vars {
			block.Vars = append(block.Vars, varOf(v))
		}
		for _, o := range b.Ops {
			block.Ops = append(block.Ops, opOf(o))
		}
		p.Blocks = append(p.Blocks, block)
	}
	return p, p.check()
}

// checkBlock holds a block to its place in the list.
func checkBlock(i int, idx, parent int32) error {
	if int(idx) != i {
		return fmt.Errorf("block %d has number %d: %w", i, idx, format.ErrCorrupt)
	}
	if parent < -1 || int(parent) >= i {
		return fmt.Errorf("block %d has parent %d, want an earlier block: %w", i, parent, format.ErrCorrupt)
	}
	return nil
}

// check finds what no program has, whatever its form: no block, a variable twice, a nameless operator, an operator that
// runs a block which is not there.
func (p *Program) check() error {
	if len(p.Blocks) == 0 {
		return fmt.Errorf("no block: %w", format.ErrCorrupt)
	}
	for i, b := range p.Blocks {
		seen := make(map[string]bool, len(b.Vars))
		for _, v := range b.Vars {
			if seen[v.Name] || v.Name == "" {
				return fmt.Errorf("block %d: variable %q, want a name that no other has: %w", i, v.Name, format.ErrCorrupt)
			}
			seen[v.Name] = true
		}
		for j, o := range b.Ops {
			if o.Type == "" {
				return fmt.Errorf("block %d: operator %d has no type: %w", i, j, format.ErrCorrupt)
			}
			for _, n := range o.Blocks() {
				if n < 0 || n >= int64(len(p.Blocks)) {
					return fmt.Errorf("block %d: operator %d (%s) runs block %d, want one of %d: %w", i, j, o.Type, n, len(p.Blocks), format.ErrCorrupt)
				}
			}
		}
	}
	return nil
}

func varOf(d *VarDesc) Var {
	v := Var{
		Name: d.GetName(), Kind: d.GetType().GetType(), Persistable: d.GetPersistable(), Parameter: d.GetIsParameter(),
		NeedFeed: d.GetNeedCheckFeed(), StopGradient: d.GetStopGradient(),
	}
	t := d.GetType()
	switch v.Kind {
	case VarType_SELECTED_ROWS:
		v.tensor(t.SelectedRows, 0)
	case VarType_LOD_TENSOR_ARRAY:
		v.dense(t.TensorArray)
	default:
		v.dense(t.DenseTensor)
	}
	return v
}

func (v *Var) dense(d *VarType_DenseTensorDesc) {
	if d != nil {
		v.tensor(d.Tensor, int(d.GetLodLevel()))
	}
}

func (v *Var) tensor(d *VarType_TensorDesc, level int) {
	if d != nil {
		v.Typed, v.Elem, v.Dims, v.LoDLevel = true, d.GetDataType(), d.GetDims(), level
	}
}

func opOf(d *OpDesc) Op {
	o := Op{Type: d.GetType(), In: slots(d.Inputs), Out: slots(d.Outputs), Target: d.GetIsTarget()}
	o.Attrs = make([]Attr, len(d.Attrs))
	for i, a := range d.Attrs {
		o.Attrs[i] = attrOf(a)
	}
	return o
}

func slots(list []*OpDesc_Var) []Slot {
	all := make([]Slot, len(list))
	for i, v := range list {
		all[i] = Slot{v.GetParameter(), v.GetArguments()}
	}
	return all
}

// Encode gives the bytes of the topology. A ProgramDesc that Decode read comes back byte for byte if its fields stood
// in the order of their numbers, as Paddle writes them.
func (p *Program) Encode() ([]byte, error) {
	var m protoreflect.ProtoMessage
	switch p.Form {
	case FormPIR:
		return append([]byte(nil), p.text...), nil
	case FormEarly:
		m = p.early
	default:
		m = p.desc
	}
	data, err := (proto.MarshalOptions{Deterministic: true}).Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
