package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"thole.example/data"
)

// FileName is what the description of a network is called in the folder of a saved model.
const FileName = "graph.json"

// FileLimit is the largest graph.json that ParseJSON reads, in bytes.
const FileLimit = 1 << 24

// File is a network as graph.json describes it, in the grammar of Angel. Zero means not given, except where a pointer
// tells the two apart.
//
// What we read: keys in letters of any case (Angel wants small ones; Respelt lists the others); an optimizer, a transfer
// function and a loss as a name or as an object. What we write: what was read, without the keys we do not know (Unknown lists
// them), letters beyond ASCII escaped, so that readers that take bytes for letters see the same. docs/graph.md says what each
// key does, and which are not Angel's.
type File struct {
	Data             DataPart  `json:"data"`
	Train            TrainPart `json:"train"`
	Model            ModelPart `json:"model"`
	DefaultOptimizer *Choice   `json:"default_optimizer,omitempty"`
	DefaultTransFunc *Choice   `json:"default_transfunc,omitempty"`
	DefaultLossFunc  *Choice   `json:"default_lossfunc,omitempty"`
	Layers           []Entry   `json:"layers"`

	Lines   map[string]int `json:"-"` // where keys of the grammar stand, by their paths in small letters
	Unknown []Key          `json:"-"` // keys that were read and are not in the grammar
	Respelt []Key          `json:"-"` // keys that Angel ignores, because their letters are of another case
}

// DataPart says what the examples look like.
type DataPart struct {
	Path          string   `json:"path,omitempty"`
	Format        string   `json:"format,omitempty"`     // libsvm, libffm, dummy, dense
	IndexRange    int64    `json:"indexrange,omitempty"` // number of feature columns; below 0: not known
	NumField      int      `json:"numfield,omitempty"`
	ValidateRatio *float64 `json:"validateratio,omitempty"` // share that is held out
	SampleRatio   float64  `json:"sampleratio,omitempty"`   // share of the others that is trained on
	UseShuffle    *bool    `json:"useshuffle,omitempty"`
	PosNegRatio   float64  `json:"posnegratio,omitempty"` // positives for each negative in a batch; 0 or less: as they come
	TransLabel    string   `json:"translabel,omitempty"`

	// Classes are the labels of the negative and the positive examples, if they are others than -1 (or 0) and 1.
	Classes []float32 `json:"classes,omitempty"`
	Fields  *Fields   `json:"fields,omitempty"` // which values of a row are of which field
	Hash    int64     `json:"hash,omitempty"`   // number of columns that features are hashed into

	Scaling data.Scaling `json:"scaling,omitempty"` // of the values of lines
}

// TrainPart says how to train.
type TrainPart struct {
	Epoch             int      `json:"epoch,omitempty"`
	NumUpdatePerEpoch int      `json:"numupdateperepoch,omitempty"` // steps of an epoch
	BatchSize         int      `json:"batchsize,omitempty"`
	LR                float64  `json:"lr,omitempty"`
	DecayClass        string   `json:"decayclass,omitempty"`
	DecayAlpha        *float64 `json:"decayalpha,omitempty"`
	DecayBeta         *float64 `json:"decaybeta,omitempty"`

	Seed       *uint64     `json:"seed,omitempty"`
	Clip       float64     `json:"clip,omitempty"`       // largest norm of a gradient
	Metrics    []string    `json:"metrics,omitempty"`    // of the held-out examples
	EarlyStop  *EarlyStop  `json:"early_stop,omitempty"` // when a metric of the held-out examples stands still
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// EarlyStop ends a training when Metric has not become better by MinDelta for Patience epochs.
type EarlyStop struct {
	Metric   string  `json:"metric,omitempty"`
	Mode     string  `json:"mode,omitempty"`     // min or max: what is better
	Patience *int    `json:"patience,omitempty"` // 0: never; nil: it does not say
	MinDelta float64 `json:"min_delta,omitempty"`
}

// Checkpoint saves what is needed to go on, again and again.
type Checkpoint struct {
	Path  string   `json:"path,omitempty"`
	Every Interval `json:"every,omitempty"`
}

// Interval is a time, like 5m, or a number of steps.
type Interval string

// UnmarshalJSON implements json.Unmarshaler: a number of steps may be one.
func (i *Interval) UnmarshalJSON(src []byte) error {
	var text string
	var steps int
	if json.Unmarshal(src, &steps) == nil {
		*i = Interval(strconv.Itoa(steps))
		return nil
	}
	if json.Unmarshal(src, &text) != nil {
		return &settingError{src, `want a time like "5m", or a number of steps`}
	}
	*i = Interval(text)
	return nil
}

// ModelPart says how the parameters are kept and where.
type ModelPart struct {
	LoadPath  string `json:"loadpath,omitempty"`
	SavePath  string `json:"savepath,omitempty"`
	ModelType string `json:"modeltype,omitempty"` // Angel's row type, such as T_FLOAT_DENSE
	ModelSize int64  `json:"modelsize,omitempty"` // columns that are expected to occur
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

	Init         *Choice `json:"init,omitempty"`         // of the weights: normal or uniform, with a scale
	Rank         int     `json:"rank,omitempty"`         // of the matrices of a cross layer; 0: full
	Depth        int     `json:"depth,omitempty"`        // how many cross layers stand one on the other
	Pooling      string  `json:"pooling,omitempty"`      // sum or mean: of several values of one field
	Proba        float64 `json:"proba,omitempty"`        // with which dropout drops an output
	OutputFormat string  `json:"outputformat,omitempty"` // Angel's format of the layer's matrices
}

// Inputs are the names of the layers that the entry reads.
func (e *Entry) Inputs() []string {
	if e.InputLayer != "" {
		return append([]string{e.InputLayer}, e.InputLayers...)
	}
	return e.InputLayers
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
