package parquet

import (
	"encoding/binary"
	"fmt"
	"slices"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// maxTexts is the most bytes of the texts of a column that are held at a time.
const maxTexts = 256 << 20

// texts are the texts of a page that were not taken.
type texts struct {
	left int
	data []byte
	// How long each is: as codes' text in the dictionary; as these lengths; all as this; as the four bytes before it.
	codes []uint32
	lens  []int64
	fixed int
}

// newTexts reads the head of n texts, all of fixed bytes if that is not 0. codes is memory for those of a dictionary.
func newTexts(raw []byte, e pf.Encoding, n, fixed int, dict *format.Texts, codes []uint32) (p texts, err error) {
	p = texts{left: n, data: raw, fixed: fixed}
	if n == 0 {
		return p, nil
	}
	switch e {
	case pf.Plain:
		if n < 0 || fixed > 0 && int64(len(raw)) != int64(n)*int64(fixed) || fixed == 0 && len(raw)/4 < n {
			err = fmt.Errorf("%d texts in %d bytes", n, len(raw))
		}
	case pf.PlainDictionary, pf.RLEDictionary:
		p.codes, err = dictionaryCodes(raw, n, dict, codes)
		p.data = nil
	case pf.DeltaLengthByteArray:
		if p.lens, p.data, err = lengths(raw, n); err == nil {
			err = p.sum()
		}
	case pf.DeltaByteArray:
		err = p.suffixes(raw)
	case pf.ByteStreamSplit:
		if fixed == 0 || int64(len(raw)) != int64(n)*int64(fixed) {
			return p, fmt.Errorf("%d split values of %d bytes in %d", n, fixed, len(raw))
		}
		p.data = make([]byte, len(raw))
		for k := range fixed {
			for i, b := range raw[k*n : (k+1)*n] {
				p.data[i*fixed+k] = b
			}
		}
	default:
		err = fmt.Errorf("texts in %v, want plain, dictionary, delta lengths or delta: %w", e, format.ErrVersion)
	}
	return p, err
}

// dictionaryCodes reads n places in a dictionary.
func dictionaryCodes(raw []byte, n int, dict *format.Texts, codes []uint32) ([]uint32, error) {
	switch {
	case dict == nil:
		return nil, fmt.Errorf("a page that needs a dictionary, and none before it")
	case len(raw) == 0:
		return nil, fmt.Errorf("numbers of a dictionary without their width")
	}
	codes = grownIndex(codes, n)
	if err := hybrid(codes, raw[1:], int(raw[0])); err != nil {
		return nil, err
	}
	most := uint32(0)
	for _, k := range codes {
		most = max(most, k)
	}
	if uint64(most) >= uint64(dict.Len()) {
		return nil, fmt.Errorf("number %d of a dictionary of %d", most, dict.Len())
	}
	return codes, nil
}

// lengths reads n lengths as differences.
func lengths(raw []byte, n int) (lens []int64, rest []byte, err error) {
	lens, rest, err = someDifferences(raw, n, 32)
	for _, l := range lens {
		if l < 0 || l > maxPage {
			return nil, nil, fmt.Errorf("a text of %d bytes, want at most %d", l, maxPage)
		}
	}
	return lens, rest, err
}

// sum checks that the lengths fill the data.
func (p *texts) sum() error {
	all := int64(0)
	for _, l := range p.lens {
		all += l
	}
	if all != int64(len(p.data)) {
		return fmt.Errorf("texts of %d bytes in %d", all, len(p.data))
	}
	return nil
}

// suffixes reads texts of which each begins as the one before: how many bytes are the same, and the rest of each.
func (p *texts) suffixes(raw []byte) (err error) {
	same, raw, err := lengths(raw, p.left)
	if err != nil {
		return err
	}
	if p.lens, p.data, err = lengths(raw, p.left); err != nil {
		return err
	}
	if err := p.sum(); err != nil {
		return err
	}
	all := int64(len(p.data))
	for i, l := range same {
		if before := int64(0); l > 0 {
			if i > 0 {
				before = same[i-1] + p.lens[i-1]
			}
			if l > before {
				return fmt.Errorf("text %d begins as the %d bytes before, of %d", i, l, before)
			}
		}
		if all += l; all > maxPage {
			return fmt.Errorf("texts of more than %d bytes in a page: %w", maxPage, format.ErrLimit)
		}
	}
	out, last := make([]byte, 0, all), 0
	for i, l := range same {
		start := len(out)
		out = append(out, out[last:last+int(l)]...)
		out = append(out, p.data[:p.lens[i]]...)
		p.data, p.lens[i], last = p.data[p.lens[i]:], l+p.lens[i], start
	}
	p.data = out
	return nil
}

// next takes the next text of a page that has texts.
func (p *texts) next() ([]byte, error) {
	n := p.fixed
	switch {
	case p.lens != nil:
		n, p.lens = int(p.lens[0]), p.lens[1:]
	case n == 0:
		if len(p.data) < 4 || int64(binary.LittleEndian.Uint32(p.data)) > int64(len(p.data)-4) {
			return nil, fmt.Errorf("a text without its end")
		}
		n, p.data = int(binary.LittleEndian.Uint32(p.data)), p.data[4:]
	}
	text := p.data[:n]
	p.data = p.data[n:]
	if p.left--; p.left == 0 && len(p.data) > 0 {
		return nil, fmt.Errorf("%d bytes behind the last text", len(p.data))
	}
	return text, nil
}

// wholeTexts are whole numbers of the type as bytes, the highest first.
func wholeTexts(raw []byte, of matrix.DType) (p texts) {
	p.fixed, p.data = of.Size(), slices.Clone(raw)
	p.left = len(raw) / p.fixed
	wire.Swap(p.data, p.fixed, wire.Big)
	return p
}

// spelled are the texts, spelled in another way.
func (p texts) spelled(spell func(dst, b []byte) ([]byte, error)) (out texts, err error) {
	out.left, out.lens = p.left, make([]int64, 0, p.left)
	for range out.left {
		text, err := p.next()
		if err != nil {
			return out, err
		}
		before := len(out.data)
		if out.data, err = spell(out.data, text); err != nil {
			return out, err
		}
		if len(out.data) > maxTexts {
			return out, fmt.Errorf("texts of %d bytes in a page, want at most %d: %w", len(out.data), maxTexts, format.ErrLimit)
		}
		out.lens = append(out.lens, int64(len(out.data)-before))
	}
	return out, nil
}

// newDictionary is a dictionary of n texts, spelled in another way unless spell is nil, which keeps none of the bytes.
func newDictionary(raw []byte, n, fixed int, spell func(dst, b []byte) ([]byte, error)) (*format.Texts, error) {
	p, err := newTexts(raw, pf.Plain, n, fixed, nil, nil)
	if err == nil && spell != nil {
		p, err = p.spelled(spell)
	}
	if err != nil {
		return nil, err
	}
	dict := &format.Texts{Bytes: make([]byte, 0, len(raw)), End: make([]int64, 0, n)}
	for range n {
		text, err := p.next()
		if err != nil {
			return nil, err
		}
		dict.Bytes = append(dict.Bytes, text...)
		dict.End = append(dict.End, int64(len(dict.Bytes)))
	}
	return dict, nil
}
