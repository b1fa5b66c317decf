package format

import (
	"fmt"
	"strings"

	"thole.example/matrix"
)

// Used is a stored matrix and how many of its first rows a network uses.
type Used struct {
	Meta matrix.Meta
	Rows int64
}

// CheckSlots refuses matrices with other rows than those that a network uses of them, unless the rows behind can be what Angel keeps there
// for an optimizer: groups of as many rows. Angel does not save them, or all groups but the last, or those of all matrices. Of the latter
// nothing tells them from rows of a larger network but that each matrix of the model has as many groups; biases have none and are left out.
// Where one row is used, and it is no embedding, its columns say how large the network is, and what lies behind is no matter.
func CheckSlots(all []Used) error {
	for i := range all {
		m, rows := &all[i].Meta, all[i].Rows
		if m.Rows == rows || rows < 1 || rows == 1 && m.Rows > 1 && !embeds(m) {
			continue
		}
		hi := int64(0)
		for _, r := range m.SavedRows() {
			hi = max(hi, r.Hi)
		}
		whole := m.Rows > rows && m.Rows%rows == 0
		if whole && (hi <= rows || hi == m.Rows-rows || hi == m.Rows && sameGroups(all, m.Rows/rows)) {
			continue
		}
		return fmt.Errorf("matrix %s has %d rows, want %d; those behind are no state of an optimizer, of which Angel saves none, or that of all "+
			"matrices: it is of another network, look at its sizes in graph.json", m.Name, m.Rows, rows)
	}
	return nil
}

// sameGroups reports whether all matrices have n times the rows that are used. An embedding alone proves nothing: its rows may as well be
// the factors of a larger one.
func sameGroups(all []Used, n int64) bool {
	for _, u := range all {
		if u.Meta.Rows != n*u.Rows {
			return false
		}
	}
	return len(all) > 1 || !embeds(&all[0].Meta)
}

func embeds(m *matrix.Meta) bool { return strings.HasSuffix(m.Name, "_embedding") }
