package paddle

import (
	"fmt"
	"io"
	"sort"

	"thole.example/wire"
)

// latinStep is after how many characters a place is remembered, from which reading can begin.
const latinStep = 1 << 16

// latin gives bytes that stand in the file as characters U+0000 to U+00FF in UTF-8, as protocol 2 has them. It is an
// io.ReaderAt of the bytes.
type latin struct {
	r      io.ReaderAt
	off, n int64
	marks  []int64 // place in the file of every latinStep-th character
	size   int64   // characters
}

// measure walks over the text once.
func measure(r io.ReaderAt, off, n int64) (*latin, error) {
	t := &latin{r: r, off: off, n: n}
	buf := make([]byte, min(latinStep, n))
	second := false // of a character of two bytes
	for at := off; at < off+n; at += int64(len(buf)) {
		b := buf[:min(int64(len(buf)), off+n-at)]
		if err := readAt(r, b, at); err != nil {
			return nil, err
		}
		for i, v := range b {
			switch {
			case second && v&0xc0 == 0x80:
				second = false
			case second || v >= 0x80 && v != 0xc2 && v != 0xc3:
				return nil, &wire.At{Off: at + int64(i), Err: fmt.Errorf("byte %#02x in a text, want characters up to U+00FF in UTF-8", v)}
			default:
				if t.size%latinStep == 0 {
					t.marks = append(t.marks, at+int64(i))
				}
				t.size++
				second = v >= 0x80
			}
		}
	}
	if second {
		return nil, &wire.At{Off: off + n, Err: fmt.Errorf("text ends within a character: %w", wire.ErrTruncated)}
	}
	return t, nil
}

// ReadAt implements io.ReaderAt.
func (t *latin) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 || at >= t.size {
		return 0, io.EOF
	}
	pos, skip := t.marks[at/latinStep], at%latinStep
	buf := make([]byte, min(latinStep, t.off+t.n-pos, 2*(skip+int64(len(p)))))
	var lead byte
	for n < len(p) && pos < t.off+t.n {
		b := buf[:min(int64(len(buf)), t.off+t.n-pos)]
		if err := readAt(t.r, b, pos); err != nil {
			return n, err
		}
		pos += int64(len(b))
		for _, v := range b {
			if lead == 0 && v >= 0x80 {
				lead = v
				continue
			}
			if lead != 0 { // c2 and c3 carry two bits of the character
				v, lead = lead<<6|v&0x3f, 0
			}
			if skip > 0 {
				skip--
				continue
			}
			if n == len(p) {
				return n, nil
			}
			p[n] = v
			n++
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// pieces are values that lie in several places, one behind the other. It is an io.ReaderAt whose first byte is byte base,
// so that errors name a place of the file.
type pieces struct {
	base int64
	of   []piece
}

// piece is one place: size bytes of r from byte off on, which are byte start on of the whole.
type piece struct {
	r                io.ReaderAt
	off, size, start int64
}

func (p *pieces) add(r io.ReaderAt, off, size int64) {
	p.of = append(p.of, piece{r, off, size, p.size()})
}

func (p *pieces) size() int64 {
	if len(p.of) == 0 {
		return 0
	}
	last := p.of[len(p.of)-1]
	return last.start + last.size
}

// ReadAt implements io.ReaderAt.
func (p *pieces) ReadAt(b []byte, at int64) (n int, err error) {
	at -= p.base
	i := sort.Search(len(p.of), func(i int) bool { return p.of[i].start+p.of[i].size > at })
	for ; n < len(b) && i < len(p.of); i++ {
		one := p.of[i]
		within := at + int64(n) - one.start
		k := min(int64(len(b)-n), one.size-within)
		if err := readAt(one.r, b[n:n+int(k)], one.off+within); err != nil {
			return n, err
		}
		n += int(k)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
