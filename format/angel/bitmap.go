package angel

// bitmap says of n cells which are there: bit i%8 of byte i/8. Without bytes all are.
type bitmap struct {
	bytes []byte
	n     int64
	holes bool // some cell is not there
}

func (m *bitmap) full() bool { return !m.holes }

// grow adds n cells that are not there.
func (m *bitmap) grow(n int64) {
	m.n += n
	for int64(len(m.bytes)) < (m.n+7)/8 {
		m.bytes = append(m.bytes, 0)
	}
}

func (m *bitmap) set(i int64)      { m.bytes[i/8] |= 1 << (i % 8) }
func (m *bitmap) has(i int64) bool { return m.bytes[i/8]>>(i%8)&1 != 0 }

// join adds the n cells of another; if that has no bytes, all of them are there.
func (m *bitmap) join(other *bitmap, n int64) {
	if other.n == 0 && !m.holes {
		m.n += n
		return
	}
	if !m.holes { // so far no bytes were needed
		all := m.n
		m.holes, m.n = true, 0
		m.grow(all)
		for i := range all {
			m.set(i)
		}
	}
	first := m.n
	m.grow(n)
	for i := range n {
		if other.n == 0 || other.has(i) {
			m.set(first + i)
		}
	}
}
