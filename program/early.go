package program

// earlyKinds are the kinds of variables of release 0.11, by their numbers there.
func earlyKinds() map[EarlyVarDesc_Type]VarType_Type {
	return map[EarlyVarDesc_Type]VarType_Type{
		EarlyVarDesc_LOD_TENSOR:       VarType_DENSE_TENSOR,
		EarlyVarDesc_SELECTED_ROWS:    VarType_SELECTED_ROWS,
		EarlyVarDesc_FEED_MINIBATCH:   VarType_FEED_MINIBATCH,
		EarlyVarDesc_FETCH_LIST:       VarType_FETCH_LIST,
		EarlyVarDesc_STEP_SCOPES:      VarType_STEP_SCOPES,
		EarlyVarDesc_LOD_RANK_TABLE:   VarType_LOD_RANK_TABLE,
		EarlyVarDesc_LOD_TENSOR_ARRAY: VarType_LOD_TENSOR_ARRAY,
	}
}

// decodeEarly reads a topology of release 0.11.
func decodeEarly(data []byte) (*Program, error) {
	d := &EarlyProgramDesc{}
	if err := unmarshal(data, d); err != nil {
		return nil, err
	}
	kinds := earlyKinds()
	p := &Program{Form: FormEarly, early: d}
	for i, b := range d.Blocks {
		if err := checkBlock(i, b.GetIdx(), b.GetParentIdx()); err != nil {
			return nil, err
		}
		block := Block{Parent: int(b.GetParentIdx())}
		for _, e := range b.Vars {
			v := Var{Name: e.GetName(), Persistable: e.GetPersistable()}
			var ok bool
			if v.Kind, ok = kinds[e.GetType()]; !ok {
				v.Kind = VarType_RAW
			}
			v.dense(e.LodTensor)
			v.dense(e.TensorArray)
			v.tensor(e.SelectedRows, 0)
			block.Vars = append(block.Vars, v)
		}
		for _, o := range b.Ops {
			block.Ops = append(block.Ops, opOf(o))
		}
		p.Blocks = append(p.Blocks, block)
	}
	return p, p.check()
}
