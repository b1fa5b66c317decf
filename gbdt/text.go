package gbdt

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// Missing is what Text calls a value that is not there.
const Missing = "missing"

// numberText is a number in as few digits as say which one it is, a whole one without exponent.
func numberText(v float64) string {
	form := byte('g')
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		form = 'f'
	}
	return strconv.FormatFloat(v, form, -1, 64)
}

// Text is what people call a value of a feature: a level by its text, a bucket by its bounds, a number as it is.
func (v *View) Text(feature int, value float64) string {
	if value != value {
		return Missing
	}
	plain := numberText(value)
	at := sort.Search(len(v.fields), func(i int) bool { return v.fields[i].feature > feature }) - 1
	if at < 0 || v.fields[at].how == asNumber || v.fields[at].how == asMany {
		return plain
	}
	f := &v.fields[at]
	if levels := v.features.At(feature).Levels; levels != nil {
		if i := int(value); i >= 0 && i < len(levels) && levels[i] != "" {
			return levels[i]
		}
		return Missing
	}
	id := f.first + int64(value-f.shift)
	if id < f.first || id >= f.first+f.size {
		return plain
	}
	text := strings.TrimPrefix(v.table.Name(id), v.features.At(feature).Name)
	return strings.TrimLeft(text, " =")
}
