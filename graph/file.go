package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// FileName is what the description of a network is called in the folder of a saved model.
const FileName = "graph.json"

// FileLimit is the largest graph.json that ParseJSON reads, in bytes.
const FileLimit = 1 << 24

// File is a network as graph.json describes it, in the grammar of Angel. Zero means not given, except where a pointer
// tells the two apart.
//
// What we read: keys in letters of any case (Angel wants small ones); an optimizer, a transfer function and a loss as a
// name or as an object. What we write: what was read, without the keys we do not know (Ignored lists them), letters
// beyond ASCII escaped, so that readers that take bytes for letters see the same. Keys beyond Angel's: bias_optimizer
// of a layer, classes of the data.
type File struct {
	Data             DataPart  `json:"data"`
	Train            TrainPart `json:"train"`
	Model            ModelPart `json:"model"`
	DefaultOptimizer *Choice   `json:"default_optimizer,omitempty"`
	DefaultTransFunc *Choice   `json:"default_transfunc,omitempty"`
	DefaultLossFunc  *Choice   `json:"default_lossfunc,omitempty"`
	Layers           []Entry   `json:"layers"`

	Ignored []string `json:"-"` // paths of keys that were read and are not in the grammar
}

// DataPart says what the examples look like.
type DataPart struct {
	Path          string   `json:"path,omitempty"`
	Format        string   `json:"format,omitempty"`     // libsvm, dummy, dense
	IndexRange    int64    `json:"indexrange,omitempty"` // number of feature columns; below 0: not known
	NumField      int      `json:"numfield,omitempty"`
	ValidateRatio *float64 `json:"validateratio,omitempty"`
	SampleRatio   float64  `json:"sampleratio,omitempty"`
	UseShuffle    bool     `json:"useshuffle,omitempty"`
	PosNegRatio   float64  `json:"posnegratio,omitempty"`
	TransLabel    string   `json:"translabel,omitempty"`
	// Classes are the labels of the negative and the positive examples, if they are others than -1 (or 0) and 1.
	Classes []float32 `json:"classes,omitempty"`
}

// TrainPart says how to train.
type TrainPart struct {
	Epoch             int      `json:"epoch,omitempty"`
	NumUpdatePerEpoch int      `json:"numupdateperepoch,omitempty"`
	BatchSize         int      `json:"batchsize,omitempty"`
	LR                float64  `json:"lr,omitempty"`
	DecayClass        string   `json:"decayclass,omitempty"`
	DecayAlpha        *float64 `json:"decayalpha,omitempty"`
	DecayBeta         *float64 `json:"decaybeta,omitempty"`
}

// ModelPart says how the parameters are kept and where.
type ModelPart struct {
	LoadPath  string `json:"loadpath,omitempty"`
	SavePath  string `json:"savepath,omitempty"`
	ModelType string `json:"modeltype,omitempty"` // Angel's row type, such as T_FLOAT_DENSE
	ModelSize int64  `json:"modelsize,omitempty"`
	BlockSize int64  `json:"blockSize,omitempty"`
}

// Entry is a layer. Which of the keys mean something depends on Type.
type Entry struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	OutputDim     int      `json:"outputdim,omitempty"`
	OutputDims    []int    `json:"outputdims,omitempty"`
	NumFactors    int      `json:"numfactors,omitempty"`
	TransFunc     *Choice  `json:"transfunc,omitempty"`
	TransFuncs    []Choice `json:"transfuncs,omitempty"`
	InputLayer    string   `json:"inputlayer,omitempty"`
	InputLayers   []string `json:"inputlayers,omitempty"`
	LossFunc      *Choice  `json:"lossfunc,omitempty"`
	Optimizer     *Choice  `json:"optimizer,omitempty"`
	BiasOptimizer *Choice  `json:"bias_optimizer,omitempty"`
}

// Inputs are the names of the layers that the entry reads.
func (e *Entry) Inputs() []string {
	if e.InputLayer != "" {
		return append([]string{e.InputLayer}, e.InputLayers...)
	}
	return e.InputLayers
}

// ParseJSON reads a graph.json. What the layers mean is checked by whoever builds them.
func ParseJSON(src []byte) (*File, error) {
	if len(src) > FileLimit {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", FileName, len(src), FileLimit)
	}
	f := &File{}
	if err := json.Unmarshal(src, f); err != nil {
		return nil, fmt.Errorf("%s%s: %w", FileName, place(err), err)
	}
	if len(f.Layers) == 0 {
		return nil, fmt.Errorf("%s: no layers, want at least an input layer and a loss layer", FileName)
	}
	f.Ignored = unknown(nil, "", src, reflect.TypeFor[File]())
	return f, nil
}

// place is where in the file the error is, if it says so.
func place(err error) string {
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return fmt.Sprintf(" at byte %d", syntax.Offset)
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		return fmt.Sprintf(" at byte %d", kind.Offset)
	}
	return ""
}

// unknown appends the paths of the keys in src that are none of those of the type.
func unknown(all []string, path string, src []byte, t reflect.Type) []string {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem() != reflect.TypeFor[Choice]() {
		var list []json.RawMessage
		if json.Unmarshal(src, &list) == nil {
			for i, item := range list {
				all = unknown(all, fmt.Sprintf("%s[%d]", path, i), item, t.Elem())
			}
		}
		return all
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Choice]() {
		return all
	}
	keys := map[string]reflect.Type{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys[strings.ToLower(name)] = t.Field(i).Type
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return all
	}
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return all
		}
		at := strings.TrimPrefix(fmt.Sprintf("%s.%v", path, key), ".")
		if known, ok := keys[strings.ToLower(fmt.Sprint(key))]; ok {
			all = unknown(all, at, value, known)
		} else {
			all = append(all, at)
		}
	}
	return all
}

// JSON is the file in the grammar of graph.json, indented, with a line end.
func (f *File) JSON() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil // only for numbers that are not finite, which neither ParseJSON nor a builder lets in
	}
	out := make([]byte, 0, buf.Len())
	for text := buf.Bytes(); len(text) > 0; {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
