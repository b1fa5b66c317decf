package data

import (
	"thole.example/feature"
	"thole.example/kernel"
)

// openRows are rows of tables whose levels have no ids yet. Those that take more than the limit are in files.
type openRows struct {
	spill
	parts  []*feature.Part
	label  []float32 // codes, where labels are texts
	weight []float32 // empty: there are none
	group  []int64
	start  []float64

	here  int64 // bytes of parts in memory
	moved int   // parts in files: all, or none
	files []*kernel.Memory
	used  int // bytes of the last one
	all   int // bytes of all
}

// leastFile is how large a file of parts is at least. The next one is a share of those before: there are few, and little is left over.
const (
	leastFile = 16 << 20
	filesPart = 4
)

func (o *openRows) add(c *chunk) error {
	o.parts = append(o.parts, c.part)
	o.label = append(o.label, c.label...)
	o.weight, o.group, o.start = append(o.weight, c.weight...), append(o.group, c.group...), append(o.start, c.start...)
	if o.here += int64(c.part.Bytes()); o.limit == 0 || o.moved == 0 && o.here <= o.limit {
		return nil
	}
	for ; o.moved < len(o.parts); o.moved++ {
		if err := o.move(o.parts[o.moved]); err != nil {
			return err
		}
	}
	return nil
}

// move moves a part into the last file, or a new one. What is in a file stays where it is.
func (o *openRows) move(p *feature.Part) error {
	n := (p.Bytes() + 7) &^ 7
	if len(o.files) == 0 || o.used+n > len(o.files[len(o.files)-1].Data()) {
		m := &kernel.Memory{}
		o.files, o.used = append(o.files, m), 0
		if err := backIn(o.folder, m, 0); err != nil {
			return err
		}
		if err := m.Grow(max(n, leastFile, o.all/filesPart)); err != nil {
			return err
		}
	}
	m, from := o.files[len(o.files)-1], o.used
	o.used, o.all = from+n, o.all+n
	p.Move(m.Data()[from:from+n], func() { m.Release(from, from+n) })
	return nil
}

// free gives back the files. The parts must not be used any more.
func (o *openRows) free() {
	for _, m := range o.files {
		m.Free()
	}
	*o = openRows{}
}
