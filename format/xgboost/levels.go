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
			var offsets, bytes []int64
			var numbers []string
			kind := false
			fields(v, map[string]func(){
				"type":    func() { kind = true; v.number() },
				"offsets": func() { offsets = v.wholes(nil) },
				"values": func() {
					for _, n := range v.doubles(nil) {
						numbers, bytes = append(numbers, strconv.FormatFloat(n, 'g', -1, 64)), append(bytes, int64(n))
					}
				},
			})
			if kind {
				m.levels = append(m.levels, numbers)
				return
			}
			names, ok := cut(offsets, bytes)
			if !ok && v.failed() == nil {
				v.fail(at, "", "offsets of names lie outside of %d bytes, or go back", len(bytes))
			}
			for _, name := range names {
				if !utf8.ValidString(name) {
					m.doubted, names = append(m.doubted, strconv.Itoa(i)), nil
					break
				}
			}
			m.levels = append(m.levels, names)
		})
	}})
}

// cut makes texts of their bytes, which may be signed.
func cut(offsets, bytes []int64) (names []string, ok bool) {
	for i := 1; i < len(offsets); i++ {
		lo, hi := offsets[i-1], offsets[i]
		if lo < 0 || hi < lo || hi > int64(len(bytes)) {
			return nil, false
		}
		name := make([]byte, 0, hi-lo)
		for _, b := range bytes[lo:hi] {
			name = append(name, byte(b))
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

// encode is nil if no feature has names of levels.
func encode(of []tree.Feature) *encoded {
	all, any := &encoded{segments: []int64{0}}, false
	for _, f := range of {
		var offsets, bytes []int64
		order := make([]int64, len(f.Levels))
		for i, name := range f.Levels {
			any = true
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
	if !any {
		return nil
	}
	return all
}
