package program

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"thole.example/format"
)

// TestNewPIR writes what was read of models that Paddle saved: the same bytes, since values have numbers in order, keys
// are sorted, and numbers have the same digits.
func TestNewPIR(t *testing.T) {
	for _, file := range []string{"norm.json", "tower.json", "wide.json"} {
		p, data := saved(t, file)
		again, err := NewPIR(p.Blocks[0])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		text, err := again.Encode()
		if err != nil || !bytes.Equal(text, data) {
			at := 0
			for at < min(len(text), len(data)) && text[at] == data[at] {
				at++
			}
			t.Errorf("%s: byte %d: %s, want %s (%v)", file, at, text[max(0, at-60):min(len(text), at+60)], data[max(0, at-60):min(len(data), at+60)], err)
		}
	}
}

// TestNewPIRRefuses lists what PIR has no form for.
func TestNewPIRRefuses(t *testing.T) {
	for what, change := range map[string]func(b *Block){
		"want one value that was made before":     func(b *Block) { b.Ops[3].In[0].Args = []string{"nobody"} },
		"want one variable that is declared":      func(b *Block) { b.Vars = b.Vars[1:] },
		"declared and not made before":            func(b *Block) { b.Ops[3].Out[0].Args = []string{"x"} },
		"no dense tensor without LoD":             func(b *Block) { b.Vars[2].LoDLevel = 1 },
		"elements of type 99":                     func(b *Block) { b.Vars[2].Elem = 99 },
		"transpose_x of type BOOLEAN is nothing":  func(b *Block) { b.Ops[3].Attrs[0].Value = nil },
		"operator 0 (builtin.parameter): 0 resul": func(b *Block) { b.Ops[0].Out = nil },
	} {
		p, err := Decode([]byte(linearPIR))
		if err != nil {
			t.Fatal(err)
		}
		change(&p.Blocks[0])
		if _, err := NewPIR(p.Blocks[0]); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	b := Block{Vars: []Var{{Name: "y", Kind: VarType_DENSE_TENSOR, Typed: true, Elem: VarType_FP32}},
		Ops: []Op{{Type: "pd_op.full", Out: []Slot{{"0", []string{"y"}}}, Attrs: []Attr{{"axis", AttrType_INT, int64(1 << 40)}}}}}
	if _, err := NewPIR(b); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want 32 bits", err)
	}
}
