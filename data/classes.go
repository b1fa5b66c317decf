package data

import (
	"fmt"
	"math"
	"slices"
)

// Classes are the labels of a file for classification: of two classes (AutoTrans) that of negative examples, which becomes -1,
// and that of positive ones, which becomes +1; of any number (ClassTrans) in the order of what they become, 0, 1 and so on.
type Classes []float32

// Standard are the two classes -1 and +1, for which also 0 and 1 may be written.
func Standard() Classes { return Classes{-1, 1} }

// IsStandard reports whether the classes are those of Standard.
func (c Classes) IsStandard() bool { return slices.Equal(c, Standard()) }

// Numbered are the n classes 0 to n-1.
func Numbered(n int) Classes {
	c := make(Classes, n)
	for i := range c {
		c[i] = float32(i)
	}
	return c
}

// ClassLimit is the largest number of classes.
const ClassLimit = 1 << 16

// wholeLimit is where float32 leaves out the first whole number.
const wholeLimit = 1 << 24

// Check reports what classes of ClassTrans cannot be: less than two, too many, no whole numbers, the same twice.
func (c Classes) Check() error {
	if len(c) < 2 || len(c) > ClassLimit {
		return fmt.Errorf("%d classes, want 2 to %d: %w", len(c), ClassLimit, ErrClass)
	}
	seen := map[float32]bool{}
	for _, v := range c {
		if !isWhole(v) || seen[v] {
			return fmt.Errorf("class %v, want different whole numbers: %w", v, ErrClass)
		}
		seen[v] = true
	}
	return nil
}

func isWhole(v float32) bool {
	return math.Abs(float64(v)) <= wholeLimit && float64(v) == math.Trunc(float64(v))
}

// mapLabels makes labels what the mapping makes of the classes, each of which must be there.
func (c Classes) mapLabels(label []float32, mapping Labels) {
	switch mapping {
	case AutoTrans:
		for i, v := range label {
			if label[i] = -1; v == c[1] {
				label[i] = 1
			}
		}
	case ClassTrans:
		number := make(map[float32]float32, len(c))
		for i, v := range c {
			number[v] = float32(i)
		}
		for i, v := range label {
			label[i] = number[v]
		}
	}
}

// kinds are the labels that occur under AutoTrans or ClassTrans, each with the first line of it, in the order of lines: no more
// than one too many, because that is an error whatever the others are.
type kinds struct {
	list  []kind
	known map[float32]bool // those of the list, once it is long
}

type kind struct {
	label float32
	line  int64
}

// reset forgets the labels.
func (k *kinds) reset() { k.list, k.known = k.list[:0], nil }

// cut leaves only the first n labels.
func (k *kinds) cut(n int) {
	for _, one := range k.list[n:] {
		delete(k.known, one.label)
	}
	k.list = k.list[:n]
}

func (k *kinds) has(label float32) bool {
	if k.known != nil {
		return k.known[label]
	}
	return slices.ContainsFunc(k.list, func(one kind) bool { return one.label == label })
}

func (k *kinds) add(label float32, line int64, mapping Labels) {
	const short = 8 // up to here looking at all is as fast as a map
	most := 3
	if mapping == ClassTrans {
		most = ClassLimit + 1
	}
	if len(k.list) >= most || k.has(label) {
		return
	}
	if k.list = append(k.list, kind{label, line}); len(k.list) == short {
		k.known = map[float32]bool{}
		for _, one := range k.list {
			k.known[one.label] = true
		}
	} else if k.known != nil {
		k.known[label] = true
	}
}

// refuse tells why a label cannot stand beside those before; want are the classes if they are known.
func (k *kinds) refuse(label float32, want Classes, mapping Labels) error {
	if k.has(label) {
		return nil
	}
	if mapping == ClassTrans {
		return k.refuseClass(label, want)
	}
	standard := label == 0 || label == 1 || label == -1
	switch {
	case label == 0 && k.has(-1), label == -1 && k.has(0):
		return fmt.Errorf("label %v in examples that have both 0 and -1, want 0 and 1 or -1 and +1 (%s): %w", label, otherLabels, ErrLabel)
	case want == nil && len(k.list) < 2, slices.Contains(want, label), want.IsStandard() && standard:
		return nil
	case want == nil:
		return fmt.Errorf("label has more than two values (%v, %v, %v, ...); %s, %s: %w", k.list[0].label, k.list[1].label, label, otherTasks,
			otherLabels, ErrLabel)
	case want.IsStandard():
		return fmt.Errorf("label %v, want 0 and 1 or -1 and +1 (%s): %w", label, otherLabels, ErrLabel)
	}
	return fmt.Errorf("label %v, want %v or %v, the classes that were learned: %w", label, want[0], want[1], ErrLabel)
}

// refuseClass is refuse under ClassTrans.
func (k *kinds) refuseClass(label float32, want Classes) error {
	switch {
	case !isWhole(label):
		return fmt.Errorf("label %v, want a whole number, up to %d, for each class: %w", label, wholeLimit, ErrClass)
	case want != nil && !slices.Contains(want, label):
		return fmt.Errorf("label %v, want one of the %d classes %v: %w", label, len(want), want, ErrClass)
	case len(k.list) >= ClassLimit:
		return fmt.Errorf("label %v beside %d others, want at most %d classes: %w", label, len(k.list), ClassLimit, ErrClass)
	}
	return nil
}

// String is the classes, or the first of them where they would fill the screen.
func (c Classes) String() string {
	const most = 20
	text := fmt.Sprint([]float32(c[:min(most, len(c))]))
	if len(c) > most {
		return text + " and others"
	}
	return text
}

// otherTasks names what learns from other labels than two classes.
const otherTasks = "for regression use --loss l2 (trees), --loss l2loss (networks) or --algo linreg, for classes " +
	"--loss multiclass (trees) or --algo softmax"

const otherLabels = "or a mapping: --labels PosNegTrans --label-threshold T makes labels above T positive"

// classes are what the labels stand for. Under AutoTrans: -1 and +1, also written 0 and 1, or of any two others the smaller one
// is negative; one label alone must be of the first kind, because nothing tells which of two it is. Under ClassTrans all that
// occur, ascending.
func (k *kinds) classes(mapping Labels) (Classes, error) {
	var all Classes
	for _, one := range k.list {
		all = append(all, one.label)
	}
	slices.Sort(all)
	standard := !slices.ContainsFunc(all, func(v float32) bool { return v != 0 && v != 1 && v != -1 })
	switch {
	case mapping == ClassTrans && len(all) == 1:
		return nil, fmt.Errorf("label %v in all examples, want two classes or more (--classes says which there are): %w", all[0], ErrClass)
	case mapping == ClassTrans:
		return all, nil
	case standard:
		return Standard(), nil
	case len(all) == 1:
		return nil, fmt.Errorf("label %v in all examples, want two classes (%s): %w", all[0], otherLabels, ErrLabel)
	}
	return all, nil
}
