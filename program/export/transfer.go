package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/graph"
)

// transferOps is the table of transfer functions: the operator of each, "" for none. Dropout is for training; a trained
// network gives its values as they are.
func transferOps() map[string]string {
	return map[string]string{
		"identity": "", "sigmoid": "sigmoid", "tanh": "tanh", "relu": "relu", "softmax": "softmax",
		"dropout": "", "sigmoidwithdropout": "sigmoid", "tanhwithdropout": "tanh", "reluwithdropout": "relu",
	}
}

// transferOp is the operator of a transfer function, "" for the identity, which is meant if none is named.
func transferOp(c *graph.Choice) (string, error) {
	if c == nil {
		return "", nil
	}
	op, ok := transferOps()[strings.ToLower(c.Type)]
	if !ok {
		return "", fmt.Errorf("transfer function %q, want identity, sigmoid, tanh, relu, softmax or dropout", c.Type)
	}
	return op, nil
}

// heads is the table of losses: the operator that makes the prediction of the scores, "" if the score is the prediction,
// and how many scores there are, 0 for two or more.
func heads() map[string]head {
	return map[string]head{
		"logloss":          {"sigmoid", 1},
		"softmaxloss":      {"softmax", 0},
		"crossentropyloss": {"", 1}, // of a probability
		"hingeloss":        {"", 1},
		"l2loss":           {"", 1},
		"huberloss":        {"", 1},
		"poissonloss":      {"exp", 1},
	}
}

// head is the end of a network.
type head struct {
	op    string
	width int64
}

// head is the end that a loss layer asks for; logloss if it names no loss, as in Angel.
func (b *builder) head(e *graph.Entry) (head, error) {
	c := first(e.LossFunc, b.file.DefaultLossFunc)
	if c == nil {
		c = graph.Named("logloss")
	}
	b.loss = strings.ToLower(c.Type)
	h, ok := heads()[b.loss]
	if !ok {
		return h, fmt.Errorf("layer %q: loss function %q, want one of %s", e.Name, c.Type,
			strings.Join(slices.Sorted(maps.Keys(heads())), " "))
	}
	return h, nil
}

// first is the first choice that was made.
func first(all ...*graph.Choice) *graph.Choice {
	for _, c := range all {
		if c != nil {
			return c
		}
	}
	return nil
}
