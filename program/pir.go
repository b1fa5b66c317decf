package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thole.example/format"
	"thole.example/wire"
)

// The JSON of a PIR text. Keys are short: # is a name or number, % the number of a value, TT a type, D data.
type (
	pirFile struct {
		Base struct {
			Magic   string `json:"magic"`
			Version int64  `json:"version"`
		} `json:"base_code"`
		Program struct {
			Regions []pirRegion `json:"regions"`
		} `json:"program"`
	}
	pirRegion struct {
		Blocks []pirBlock `json:"blocks"`
	}
	pirBlock struct {
		Args   json.RawMessage `json:"args"`
		Kwargs json.RawMessage `json:"kwargs"`
		Ops    []pirOp         `json:"ops"`
	}
	pirOp struct {
		Name    string          `json:"#"`
		In      []pirValue      `json:"I"`
		Out     json.RawMessage `json:"O"` // a list, one object in parameter operators
		Attrs   json.RawMessage `json:"A"` // objects, bare values in parameter operators
		OutAttr json.RawMessage `json:"OA"`
		Regions []pirRegion     `json:"regions"`
	}
	pirValue struct {
		ID   int64    `json:"%"`
		Arg  int64    `json:"#"` // instead of ID: of an argument of a block
		Type *pirType `json:"TT"`
	}
	pirType struct {
		Name string          `json:"#"`
		Data json.RawMessage `json:"D"`
	}
	pirAttr struct {
		Name string  `json:"N"`
		Type pirData `json:"AT"`
	}
	pirData struct {
		Name string          `json:"#"`
		Data json.RawMessage `json:"D"`
		Void json.RawMessage `json:"VD"` // instead of D: NaN, infinities
	}
)

// maxNesting is how deep blocks may lie within each other.
const maxNesting = 64

// pirMagic is what base_code.magic says.
const pirMagic = "pir"

// looksLikePIR reports whether the text is an object with the mark of PIR near its beginning or anywhere at its top.
func looksLikePIR(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return false
	}
	at := bytes.Index(data, []byte(`"base_code"`))
	if at < 0 {
		return false
	}
	near := data[at:min(len(data), at+512)]
	_, near, ok := bytes.Cut(near, []byte(`"magic"`))
	near = bytes.TrimLeft(near, " \t\r\n:")
	return ok && bytes.HasPrefix(near, []byte(`"`+pirMagic+`"`))
}

// decodePIR reads a PIR text.
func decodePIR(data []byte) (*Program, error) {
	var f pirFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, jsonError(err)
	}
	if err := checkKeys(data); err != nil {
		return nil, err
	}
	if f.Base.Magic != pirMagic {
		return nil, fmt.Errorf("base_code.magic is %q, want %q: %w", f.Base.Magic, pirMagic, format.ErrCorrupt)
	}
	r := &pirReader{
		p:     &Program{Form: FormPIR, Version: f.Base.Version, HasVersion: true, text: bytes.Clone(data)},
		names: map[int64]string{},
		used:  map[string]bool{},
	}
	if len(f.Program.Regions) != 1 || len(f.Program.Regions[0].Blocks) == 0 {
		return nil, fmt.Errorf("%d regions of the program, want one with a block: %w", len(f.Program.Regions), format.ErrCorrupt)
	}
	for i := range f.Program.Regions[0].Blocks {
		if err := r.block(&f.Program.Regions[0].Blocks[i], -1, 0); err != nil {
			return nil, err
		}
	}
	return r.p, r.p.check()
}

// checkKeys refuses objects in which two keys are the same but for the case of letters: readers take one or the other, or the last.
func checkKeys(data []byte) error {
	type object struct {
		keys  map[string]bool // nil: it is an array
		value bool            // a value comes next, not a key
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var open []object
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return jsonError(err)
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].keys != nil {
			in := &open[n-1]
			if in.value = !in.value; in.value {
				key := strings.ToLower(strings.ToUpper(token.(string)))
				if in.keys[key] {
					return &wire.At{Off: dec.InputOffset(), Err: fmt.Errorf("key %q for the second time in an object: %w", token, format.ErrCorrupt)}
				}
				in.keys[key] = true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		}
	}
}

// jsonError gives an error of the JSON text its place.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		if syntax.Error() == "unexpected end of JSON input" {
			return &wire.At{Off: syntax.Offset, Err: wire.ErrTruncated}
		}
		return &wire.At{Off: syntax.Offset, Err: err}
	case errors.As(err, &wrong):
		return &wire.At{Off: wrong.Offset, Err: err}
	}
	return fmt.Errorf("%w: %w", format.ErrCorrupt, err)
}

// pirReader makes blocks of PIR's nested ones. Values have numbers; variables have the names of parameters and inputs
// where there are such, and %n for value n where not.
type pirReader struct {
	p     *Program
	names map[int64]string // of values
	used  map[string]bool
}

// block reads one block and those within its operators.
func (r *pirReader) block(b *pirBlock, parent, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("blocks %d deep, want at most %d: %w", depth, maxNesting, format.ErrLimit)
	}
	at := len(r.p.Blocks)
	r.p.Blocks = append(r.p.Blocks, Block{Parent: parent})
	if err := r.arguments(b, at); err != nil {
		return fmt.Errorf("block %d: %w", at, err)
	}
	for i := range b.Ops {
		o := &b.Ops[i]
		if err := r.op(o, at); err != nil {
			return fmt.Errorf("block %d: operator %d (%s): %w", at, i, o.Name, err)
		}
		made, within := len(r.p.Blocks[at].Ops)-1, []int64{}
		for _, region := range o.Regions {
			for k := range region.Blocks {
				within = append(within, int64(len(r.p.Blocks)))
				if err := r.block(&region.Blocks[k], at, depth+1); err != nil {
					return err
				}
			}
		}
		if op := &r.p.Blocks[at].Ops[made]; len(within) > 0 {
			op.Attrs = append(op.Attrs, Attr{Name: "regions", Type: AttrType_BLOCKS, Value: within})
		}
	}
	return nil
}

// arguments reads the values that a block gets from the operator around it: a list, then named ones, or a second list in
// their place. Their numbers are below zero; a number that another block has used means another value from here on.
func (r *pirReader) arguments(b *pirBlock, at int) error {
	for _, raw := range []json.RawMessage{b.Args, b.Kwargs} {
		list := []pirValue{}
		if json.Unmarshal(raw, &list) != nil {
			named := map[string]pirValue{}
			if len(raw) > 0 && json.Unmarshal(raw, &named) != nil {
				return fmt.Errorf("arguments %.40q: %w", raw, format.ErrCorrupt)
			}
			for _, key := range slices.Sorted(maps.Keys(named)) {
				list = append(list, named[key])
			}
		}
		for _, v := range list {
			if v.ID == 0 {
				v.ID = v.Arg
			}
			if v.ID >= 0 {
				return fmt.Errorf("argument of number %d, want one below 0: %w", v.ID, format.ErrCorrupt)
			}
			called := ""
			if r.names[v.ID] != "" {
				delete(r.names, v.ID)
				called = fmt.Sprintf("%%%d of block %d", v.ID, at)
			}
			if err := r.result(v, called, at); err != nil {
				return err
			}
			r.p.Blocks[at].Args = append(r.p.Blocks[at].Args, r.names[v.ID])
		}
	}
	return nil
}

// result makes a variable of a value that an operator or a block gives.
func (r *pirReader) result(v pirValue, called string, at int) error {
	if v.ID == 0 {
		return nil // no value
	}
	if r.names[v.ID] != "" {
		return fmt.Errorf("value %d is made twice: %w", v.ID, format.ErrCorrupt)
	}
	if called == "" || r.used[called] {
		called = "%" + strconv.FormatInt(v.ID, 10)
	}
	if r.used[called] {
		return fmt.Errorf("value %d: name %q is taken: %w", v.ID, called, format.ErrCorrupt)
	}
	r.used[called] = true
	r.names[v.ID] = called
	one := Var{Name: called, Kind: VarType_RAW}
	if err := one.pirType(v.Type); err != nil {
		return fmt.Errorf("value %d: %w", v.ID, err)
	}
	b := &r.p.Blocks[at]
	b.Vars = append(b.Vars, one)
	return nil
}
