package format

// Extent is how a matrix lies in storage.
type Extent struct {
	Pieces int    // partitions, blocks, row groups: what can be read alone
	Kind   string // what the pieces are called, in the plural
	Bytes  int64  // that they take, with what describes them
}

// Measurer is a Reader that knows how its matrices lie in storage.
type Measurer interface {
	// Extent is that of the matrix; ok is false if it is not known.
	Extent(name string) (x Extent, ok bool)
}

// Extent implements Measurer, as far as the files' own readers do.
func (r *folderReader) Extent(name string) (Extent, bool) {
	for i, m := range r.ms {
		if one, can := r.of[i].(Measurer); can && m.Name == name {
			return one.Extent(r.inner[i])
		}
	}
	return Extent{}, false
}
