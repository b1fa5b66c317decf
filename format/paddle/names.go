package paddle

import (
	"fmt"
	"strconv"
	"strings"

	"thole.example/blob"
)

// nameOf is the variable of a file of its own: the name of the file, without the ending that we give it.
func nameOf(file string) string {
	if ext := Codec.Info().Ext; blob.Ext(file) == ext && file != ext {
		return file[:len(file)-len(ext)]
	}
	return file
}

// ownName is the name of the variable of a file that holds one.
func (l *listing) ownName() string {
	if l.variable != "" {
		return l.variable
	}
	return nameOf(l.file)
}

// numbered is the number of one of n things, as long as that of the last: such names sort as the things stand, and files
// of Paddle without names hold tensors in the order of the names that they had.
func numbered(i, n int) string { return fmt.Sprintf("%0*d", len(strconv.Itoa(n-1)), i) }

// name is the key of an entry, a number as long as the longest.
func (d *dict) name(p pair) string {
	if p.number {
		return strings.Repeat("0", d.digits-len(p.key)) + p.key
	}
	return p.key
}

// addUnnamed appends the tensors of a file that does not name them: one is called as the file, several are numbered.
func (l *listing) addUnnamed(found ...record) {
	for i := range found {
		found[i].name, found[i].unnamed = "tensor_"+numbered(i, len(found)), true
		if len(found) == 1 {
			found[i].name, found[i].unnamed = l.ownName(), l.variable == ""
		}
		l.addRecord(&found[i])
	}
}
