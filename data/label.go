package data

import (
	"fmt"
	"strings"

	"thole.example/internal/spell"
)

// Labels says what becomes of the labels of a file. The first five have the names that Angel gives them.
type Labels uint8

// The mappings; t is Options.Threshold.
const (
	NoTrans      Labels = iota // as they are
	PosNegTrans                // +1 above t, else -1
	ZeroOneTrans               // 1 above t, else 0
	AddOneTrans                // plus 1
	SubOneTrans                // minus 1
	AutoTrans                  // the two labels there are (Classes) become -1 and +1; a third one is an error
	ClassTrans                 // the labels there are (Classes) become 0, 1, ... in ascending order
)

var labelNames = [...]string{"NoTrans", "PosNegTrans", "ZeroOneTrans", "AddOneTrans", "SubOneTrans", "auto", "classes"}

// String is the name of the mapping.
func (l Labels) String() string {
	if int(l) >= len(labelNames) {
		return fmt.Sprintf("Labels(%d)", uint8(l))
	}
	return labelNames[l]
}

// ParseLabels finds the mapping of a name, in any case; empty is NoTrans.
func ParseLabels(name string) (Labels, error) {
	if name == "" {
		return NoTrans, nil
	}
	for i, known := range labelNames {
		if strings.EqualFold(known, name) {
			return Labels(i), nil
		}
	}
	return NoTrans, fmt.Errorf("data: label mapping %q, want one of %v%s: %w", name, labelNames, spell.Hint(name, labelNames[:]), ErrOption)
}

// refuse tells why no other labels can make a label one of the classes. Who leaves out no lines is told so by the joiner, which knows
// more.
func (s *settings) refuse(v float32) error {
	if s.SkipBad <= 0 {
		return nil
	}
	var others kinds
	return others.refuse(v, s.Classes, s.Labels)
}

// mapLabel maps a label of the line that c is at.
func (c *chunk) mapLabel(s *settings, v float32) (float32, error) {
	high := float64(v) > s.Threshold
	switch s.Labels {
	case PosNegTrans:
		if high {
			return 1, nil
		}
		return -1, nil
	case ZeroOneTrans:
		if high {
			return 1, nil
		}
		return 0, nil
	case AddOneTrans:
		return v + 1, nil
	case SubOneTrans:
		return v - 1, nil
	case AutoTrans, ClassTrans:
		if err := s.refuse(v); err != nil {
			return v, err
		}
		c.kinds.add(v, c.lines, s.Labels) // what it becomes is known when all are
	}
	return v, nil
}
