package program

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"thole.example/format"
)

// New makes a topology of the given release (major*1000000 + minor*1000 + patch) from blocks, as a ProgramDesc. Fields
// of variables that are false stay unsaid, as Paddle leaves them. Fails where a value does not fit its attribute's type.
// The blocks are kept.
func New(blocks []Block, version int64) (*Program, error) {
	p := &Program{Form: FormDesc, Version: version, HasVersion: true, Blocks: blocks}
	p.desc = &ProgramDesc{Version: &Version{Version: &version}}
	for i, b := range blocks {
		if err := checkBlock(i, int32(i), int32(b.Parent)); err != nil {
			return nil, err
		}
		d := &BlockDesc{Idx: proto.Int32(int32(i)), ParentIdx: proto.Int32(int32(b.Parent))}
		for _, v := range b.Vars {
			d.Vars = append(d.Vars, v.desc())
		}
		for j := range b.Ops {
			o, err := b.Ops[j].desc()
			if err != nil {
				return nil, fmt.Errorf("operator %d (%s): %w", j, b.Ops[j].Type, err)
			}
			d.Ops = append(d.Ops, o)
		}
		p.desc.Blocks = append(p.desc.Blocks, d)
	}
	return p, p.check()
}

// Declare is a topology without operators that says of variables that they are parameters: what a combined file needs
// beside it to have names.
func Declare(params []Var, version int64) (*Program, error) {
	return New([]Block{{Parent: -1, Vars: params}}, version)
}

// Declares reports whether the topology is such a one: it says what the parameters are, and computes nothing.
func (p *Program) Declares() bool {
	return len(p.Blocks) == 1 && len(p.Blocks[0].Ops) == 0 && len(p.Params()) == len(p.Blocks[0].Vars)
}

func (v *Var) desc() *VarDesc {
	t := &VarType{Type: v.Kind.Enum()}
	if v.Typed {
		tensor := &VarType_TensorDesc{DataType: v.Elem.Enum(), Dims: v.Dims}
		dense := &VarType_DenseTensorDesc{Tensor: tensor, LodLevel: proto.Int32(int32(v.LoDLevel))}
		switch v.Kind {
		case VarType_SELECTED_ROWS:
			t.SelectedRows = tensor
		case VarType_LOD_TENSOR_ARRAY:
			t.TensorArray = dense
		default:
			t.DenseTensor = dense
		}
	}
	d := &VarDesc{Name: &v.Name, Type: t, Persistable: proto.Bool(v.Persistable)}
	for _, f := range []struct {
		on bool
		to **bool
	}{{v.NeedFeed, &d.NeedCheckFeed}, {v.Parameter, &d.IsParameter}, {v.StopGradient, &d.StopGradient}} {
		if f.on {
			*f.to = proto.Bool(true)
		}
	}
	return d
}

func (o *Op) desc() (*OpDesc, error) {
	d := &OpDesc{Type: &o.Type, Inputs: slotDescs(o.In), Outputs: slotDescs(o.Out)}
	if o.Target {
		d.IsTarget = proto.Bool(true)
	}
	for _, a := range o.Attrs {
		one, err := a.desc()
		if err != nil {
			return nil, err
		}
		d.Attrs = append(d.Attrs, one)
	}
	return d, nil
}

func slotDescs(list []Slot) []*OpDesc_Var {
	var all []*OpDesc_Var
	for _, s := range list {
		all = append(all, &OpDesc_Var{Parameter: proto.String(s.Name), Arguments: s.Args})
	}
	return all
}

// desc is the attribute as a message, for the types that programs are made with: numbers, text, truth values and lists
// of numbers and text.
func (a Attr) desc() (*OpDesc_Attr, error) {
	d := &OpDesc_Attr{Name: proto.String(a.Name), Type: a.Type.Enum()}
	ok := false
	switch v := a.Value.(type) {
	case int64:
		ok = a.Type == AttrType_LONG || a.Type == AttrType_INT || a.Type == AttrType_BLOCK
		small := int32(v)
		switch {
		case a.Type == AttrType_LONG:
			d.L = &v
		case int64(small) != v:
			return nil, fmt.Errorf("attribute %s is %d, want 32 bits: %w", a.Name, v, format.ErrLimit)
		case a.Type == AttrType_BLOCK:
			d.BlockIdx = &small
		default:
			d.I = &small
		}
	case float64:
		ok = a.Type == AttrType_FLOAT || a.Type == AttrType_FLOAT64
		if a.Type == AttrType_FLOAT64 {
			d.Float64 = &v
		} else {
			d.F = proto.Float32(float32(v))
		}
	case string:
		ok = a.Type == AttrType_STRING
		d.S = &v
	case bool:
		ok = a.Type == AttrType_BOOLEAN
		d.B = &v
	default:
		ok = a.descList(d)
	}
	if !ok {
		return nil, fmt.Errorf("attribute %s of type %v cannot be %s", a.Name, a.Type, a.Text())
	}
	return d, nil
}

func (a Attr) descList(d *OpDesc_Attr) bool {
	switch v := a.Value.(type) {
	case []int64:
		if a.Type == AttrType_LONGS {
			d.Longs = v
			return true
		}
		for _, x := range v {
			if x < math.MinInt32 || x > math.MaxInt32 {
				return false
			}
			d.Ints = append(d.Ints, int32(x))
		}
		return a.Type == AttrType_INTS
	case []float64:
		if a.Type == AttrType_FLOAT64S {
			d.Float64S = v
			return true
		}
		for _, x := range v {
			d.Floats = append(d.Floats, float32(x))
		}
		return a.Type == AttrType_FLOATS
	case []string:
		d.Strings = v
		return a.Type == AttrType_STRINGS
	case []bool:
		d.Bools = v
		return a.Type == AttrType_BOOLEANS
	}
	return false
}
