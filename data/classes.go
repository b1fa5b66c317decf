package data

import (
	"fmt"
	"slices"
)

// Classes are the two labels of a file for classification.
type Classes struct {
	Negative float32 `json:"negative"` // becomes -1
	Positive float32 `json:"positive"` // becomes +1
}

// Standard are labels -1 and +1, for which also 0 and 1 may be written.
var Standard = Classes{-1, 1}

// sign is what the label becomes; it must be one of the classes.
func (c Classes) sign(label float32) float32 {
	if label == c.Positive {
		return 1
	}
	return -1
}

// kinds are the labels that occur under AutoTrans, each with the first line of it: no more than three, because a third one is
// an error whatever the others are.
type kinds []kind

type kind struct {
	label float32
	line  int64
}

func (k *kinds) add(label float32, line int64) {
	for _, known := range *k {
		if known.label == label {
			return
		}
	}
	if len(*k) < 3 {
		*k = append(*k, kind{label, line})
	}
}

// refuse tells why a label cannot stand beside those before; want are the classes if they are known.
func (k kinds) refuse(label float32, want *Classes) error {
	has := func(v float32) bool { return slices.ContainsFunc(k, func(one kind) bool { return one.label == v }) }
	standard := label == 0 || label == 1 || label == -1
	switch {
	case has(label):
		return nil
	case label == 0 && has(-1), label == -1 && has(0):
		return fmt.Errorf("label %v in examples that have both 0 and -1, want 0 and 1 or -1 and +1 (%s): %w", label, otherLabels, ErrLabel)
	case want == nil && len(k) < 2, want != nil && (label == want.Negative || label == want.Positive || *want == Standard && standard):
		return nil
	case want == nil:
		return fmt.Errorf("label %v beside %v and %v, want two classes (%s): %w", label, k[0].label, k[1].label, otherLabels, ErrLabel)
	case *want == Standard:
		return fmt.Errorf("label %v, want 0 and 1 or -1 and +1 (%s): %w", label, otherLabels, ErrLabel)
	}
	return fmt.Errorf("label %v, want %v or %v, the classes that were learned: %w", label, want.Negative, want.Positive, ErrLabel)
}

const otherLabels = "or a mapping: --labels PosNegTrans --label-threshold T makes labels above T positive"

// classes are what the labels stand for: -1 and +1, also written 0 and 1, or of any two others the smaller one is negative. One
// label alone must be of the first kind, because nothing tells which of two it is.
func (k kinds) classes() (Classes, error) {
	standard := !slices.ContainsFunc(k, func(one kind) bool { return one.label != 0 && one.label != 1 && one.label != -1 })
	switch {
	case standard:
		return Standard, nil
	case len(k) == 1:
		return Classes{}, fmt.Errorf("label %v in all examples, want two classes (%s): %w", k[0].label, otherLabels, ErrLabel)
	}
	return Classes{min(k[0].label, k[1].label), max(k[0].label, k[1].label)}, nil
}
