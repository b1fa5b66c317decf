package xgboost

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"thole.example/tree"
)

// cats reads the names of levels, which files have since 3.1: for each feature either texts, one behind the other with the bytes at which
// they begin, or numbers.
func (m *model) cats(v values) {
	fields(v, map[string]func(){"enc": func() {
		v.array(func(i int) {
			at := v.off()
			var offsets []int64
			var list []float64
			var numbers []string
			typed := false // values are numbers and no texts
			fields(v, map[string]func(){
				"type":    func() { typed = true; v.number() },
				"offsets": func() { offsets = v.wholes(nil) },
				"values": func() {
					if typed {
						numbers = v.spellings(nil)
					} else {
						list = v.doubles(nil)
					}
				},
			})
			for _, n := range list { // of a file with the values before their type
				if typed {
					numbers = append(numbers, strconv.FormatFloat(n, 'g', -1, 64))
				}
			}
			if typed {
				m.levels = append(m.levels, numbers)
				return
			}
			names, ok := cut(offsets, list)
			if !ok && v.failed() == nil {
				v.fail(at, "", "offsets of names lie outside of %d bytes, or go back", len(list))
			}
			switch cutOff, odd := damaged(names, offsets, list); {
			case cutOff:
				m.damaged, names = append(m.damaged, i), nil
			case odd:
				m.doubted = append(m.doubted, i)
			}
			m.levels = append(m.levels, names)
		})
	}})
}

// damaged reports names that are cut off: XGBoost 3.1 and 3.2 write, for data frames of pandas, offsets that count characters, and as many
// bytes as there are characters. odd reports names that may be cut off at the end of a character, which only their data could tell.
func damaged(names []string, offsets []int64, bytes []float64) (cutOff, odd bool) {
	for _, name := range names {
		if !utf8.ValidString(name) {
			return true, true
		}
		odd = odd || len(name) != utf8.RuneCountInString(name)
	}
	if n := len(offsets); n > 0 && (offsets[0] != 0 || offsets[n-1] != int64(len(bytes))) {
		return true, true
	}
	return false, odd
}

// writesDamaged reports whether the version writes names of categories for pandas as damaged describes.
func (m *model) writesDamaged() bool {
	return m.version[0] == 3 && (m.version[1] == 1 || m.version[1] == 2) && m.attributes[ownKey] == ""
}

// notASCII reports whether one of the names is not ASCII.
func notASCII(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(name) != utf8.RuneCountInString(name) })
}

// cut makes texts of their bytes, which may be signed.
func cut(offsets []int64, bytes []float64) (names []string, ok bool) {
	for i := 1; i < len(offsets); i++ {
		lo, hi := offsets[i-1], offsets[i]
		if lo < 0 || hi < lo || hi > int64(len(bytes)) {
			return nil, false
		}
		name := make([]byte, 0, hi-lo)
		for _, b := range bytes[lo:hi] {
			name = append(name, byte(int64(b)))
		}
		names = append(names, string(name))
	}
	return names, true
}

// encoded is the names of the levels of all features as the file has them.
type encoded struct {
	offsets  [][]int64 // of each feature
	bytes    [][]int64
	segments []int64
	sorted   []int64
}

// encodeLevels is empty if no feature has names of levels.
func encodeLevels(of tree.Features) encoded {
	named := false
	for _, f := range of.Listed() {
		named = named || len(f.Levels) > 0
	}
	if !named {
		return encoded{}
	}
	all := encoded{segments: []int64{0}}
	for i := range of.Width {
		f := of.At(i)
		var offsets, bytes []int64
		order := make([]int64, len(f.Levels))
		for i, name := range f.Levels {
			if i == 0 {
				offsets = []int64{0}
			}
			for _, b := range []byte(name) {
				bytes = append(bytes, int64(int8(b)))
			}
			offsets, order[i] = append(offsets, int64(len(bytes))), int64(i)
		}
		slices.SortStableFunc(order, func(a, b int64) int { // as XGBoost searches: bytes are signed
			return slices.CompareFunc([]byte(f.Levels[a]), []byte(f.Levels[b]), func(x, y byte) int { return cmp.Compare(int8(x), int8(y)) })
		})
		all.offsets, all.bytes, all.sorted = append(all.offsets, offsets), append(all.bytes, bytes), append(all.sorted, order...)
		all.segments = append(all.segments, int64(len(all.sorted)))
	}
	return all
}
