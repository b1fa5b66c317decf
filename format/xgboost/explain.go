package xgboost

import (
	"strconv"

	"thole.example/dump"
)

// shown is how many bytes of a value are printed, and how many elements of a list of objects.
const (
	shownBytes = 48
	shownTrees = 3
)

// explain prints what lies where: every value but objects, and lists as a whole.
func explain(file []byte, p *dump.Printer) error {
	if len(file) == 0 || file[0] != '{' && newTextReader(file).next() != '{' {
		return oldFormat(file)
	}
	v, binary := reader(file)
	if binary {
		p.Head("UBJSON, numbers with their most significant byte first")
	} else {
		p.Head("JSON")
	}
	t := explainer{file: file, v: v, p: p, binary: binary}
	t.value("")
	v.end()
	return v.failed()
}

type explainer struct {
	file   []byte
	v      values
	p      *dump.Printer
	binary bool
}

func (t *explainer) value(path string) {
	from := t.v.off()
	switch t.v.next() {
	case '{':
		t.v.object(func(key string) {
			if path != "" {
				key = path + "." + key
			}
			t.value(key)
		})
		return
	case '[':
		if path == boosterKey+".model.trees" || path == boosterKey+".gbtree.model.trees" {
			left := 0
			t.v.array(func(i int) {
				if i < shownTrees {
					t.value(path + "[" + strconv.Itoa(i) + "]")
				} else {
					left++
					t.v.skip()
				}
			})
			if left > 0 {
				t.p.Head("%d trees more", left)
			}
			return
		}
	}
	t.v.skip()
	if t.v.failed() != nil {
		return
	}
	raw := t.file[from:min(int(t.v.off()), len(t.file))]
	n := min(len(raw), shownBytes)
	if t.binary {
		t.p.Field(from, raw[:n], "%s", path)
	} else {
		t.p.Text(from, raw[:n], "%s", path)
	}
	if n < len(raw) {
		t.p.Gap(from+int64(n), int64(len(raw)-n), "more of it")
	}
}
