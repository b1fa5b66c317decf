package angel

import (
	"encoding/base64"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"thole.example/wire"
)

// appendMeta appends a whole metadata file: the length and the JSON in Angel's order of keys, options sorted.
func appendMeta(dst []byte, m *matrixMeta) []byte {
	first := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendKey(append(dst, '{'), "matrixId", int64(m.id))
	dst = appendQuoted(append(dst, `,"matrixName":`...), m.name)
	dst = appendQuoted(append(dst, `,"formatClassName":`...), m.class)
	dst = appendKey(append(dst, ','), "rowType", int64(m.rowType))
	dst = appendKey(append(dst, ','), "row", int64(m.rows))
	dst = appendKey(append(dst, ','), "col", m.cols)
	dst = appendKey(append(dst, ','), "blockRow", int64(m.blockRow))
	dst = appendKey(append(dst, ','), "blockCol", m.blockCol)
	dst = append(dst, `,"options":{`...)
	for i, k := range slices.Sorted(maps.Keys(m.options)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, k), ':')
		dst = appendQuoted(dst, m.options[k])
	}
	dst = append(dst, `},"partMetas":{`...)
	for i := range m.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendDigits(dst, int64(m.parts[i].id)), ':')
		dst = appendPart(dst, &m.parts[i])
	}
	dst = append(dst, '}')
	if m.version > 0 {
		sum := crc32.Checksum(dst[first+4:], castagnoli)
		dst = appendKey(append(dst, `,"thole":{`...), "version", m.version)
		if m.sum.has {
			dst = appendKey(append(dst, ','), "crc32c", int64(sum))
		}
		dst = append(dst, '}')
	}
	dst = append(dst, '}')
	wire.Big.PutUint32(dst[first:], uint32(len(dst)-first-4))
	return dst
}

// appendPart appends the JSON of one partition.
func appendPart(dst []byte, p *partMeta) []byte {
	for i, f := range []struct {
		key string
		v   int64
	}{
		{"partId", int64(p.id)}, {"startRow", p.rows.Lo}, {"endRow", p.rows.Hi}, {"startCol", p.cols.Lo}, {"endCol", p.cols.Hi},
		{"nnz", p.nnz}, {"saveRowNum", int64(p.saved.rows)}, {"saveColNum", int64(p.saved.cols)},
		{"saveColElemNum", int64(p.saved.elems)},
	} {
		dst = append(dst, ",{"[b2i(i == 0)])
		dst = appendKey(dst, f.key, f.v)
	}
	dst = appendQuoted(append(dst, `,"fileName":`...), p.file)
	dst = appendKey(append(dst, ','), "offset", p.off)
	dst = appendKey(append(dst, ','), "length", p.size)
	dst = append(dst, `,"rowMetas":{`...)
	for i, r := range p.rowMetas {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendDigits(dst, int64(r.id)), ':')
		dst = appendKey(append(dst, '{'), "rowId", int64(r.id))
		dst = appendKey(append(dst, ','), "offset", r.off)
		dst = appendKey(append(dst, ','), "elementNum", int64(r.n))
		dst = append(appendKey(append(dst, ','), "saveType", int64(r.kind)), '}')
	}
	dst = append(dst, '}')
	if p.version > 0 {
		dst = appendKey(append(dst, `,"thole":{`...), "version", p.version)
		if p.hasSum {
			dst = appendKey(append(dst, ','), "crc32c", int64(p.sum))
		}
		if p.present != nil {
			dst = append(dst, `,"present":"`...)
			dst = append(base64.StdEncoding.AppendEncode(dst, p.present), '"')
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func appendKey(dst []byte, key string, v int64) []byte {
	dst = append(append(append(dst, '"'), key...), '"', ':')
	return strconv.AppendInt(dst, v, 10)
}

func appendDigits(dst []byte, v int64) []byte {
	return append(strconv.AppendInt(append(dst, '"'), v, 10), '"')
}

// appendQuoted writes a string as Angel's library does: a backslash before a slash, UTF-8 as it is.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\' || c == '/':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = appendControl(dst, c)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n - 1
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

func appendControl(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	for i := 1; i < len(escapes); i += 2 {
		if escapes[i] == c {
			return append(dst, '\\', escapes[i-1])
		}
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
