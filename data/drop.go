package data

// Uniform is a number from 0 to 1 for each seed and number of an example, by which examples are drawn: the same whoever draws, and
// however many there are.
func Uniform(seed uint64, number int64) float64 { return newStream(seed, dropTag).at(uint64(number)) }

// dropTag is of numbers that no other is drawn by.
const dropTag = 0x64726f70

// thin adds the rows of a chunk but for those that Options.Drop leaves out. Until it is known which label is the positive one all are
// added, and what is to be dropped of them goes then.
func (l *loader) thin(c *chunk) error {
	mapped := l.mapping()
	if mapped == nil {
		return l.set.add(&c.rows)
	}
	if !l.knows {
		if err := l.drop(mapped); err != nil {
			return err
		}
	}
	if l.left.ptr == nil {
		l.left = newRows(0, 0, false)
	}
	l.left.reset()
	first := l.rows - int64(len(c.label))
	for i, y := range c.label {
		if !l.opt.Drop(first+int64(i), mapped(y)) {
			l.left.add(&c.rows, i, i+1)
		}
	}
	return l.set.add(&l.left)
}

// drop leaves out what is to be of the examples so far, which are all that there were.
func (l *loader) drop(mapped func(float32) float32) error {
	l.knows = true
	_, err := l.set.Part(func(i int) bool { return l.opt.Drop(int64(i), mapped(l.set.Label[i])) })
	return err
}

// mapping is what becomes of labels at the end; nil: it takes more examples to know.
func (l *loader) mapping() func(float32) float32 {
	if l.opt.Labels != AutoTrans {
		return func(y float32) float32 { return y }
	}
	c := l.opt.Classes
	if c == nil {
		if len(l.join.kinds.list) < 2 {
			return nil
		}
		var err error
		if c, err = l.join.kinds.classes(AutoTrans); err != nil {
			return nil // which is told at the end
		}
	}
	return func(y float32) float32 {
		one := [1]float32{y}
		c.mapLabels(one[:], AutoTrans)
		return one[0]
	}
}
