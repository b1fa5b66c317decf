package angel

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// metaWriter writes JSON as it is made.
type metaWriter struct {
	out  io.Writer
	dst  []byte
	size int64  // bytes that were written
	sum  uint32 // their checksum
	err  error
}

// flush writes what was made, if that is enough to be written or all is to be.
func (w *metaWriter) flush(all bool) {
	if w.err != nil || !all && len(w.dst) < window {
		return
	}
	w.sum = crc32.Update(w.sum, castagnoli, w.dst)
	if w.size += int64(len(w.dst)); w.size > maxMeta {
		w.err = fmt.Errorf("more than %d bytes of metadata: %w", int64(maxMeta), format.ErrLimit)
		return
	}
	_, w.err = w.out.Write(w.dst)
	w.dst = w.dst[:0]
}

// write writes a whole metadata file: the length and the JSON in Angel's order of keys, options sorted.
func (m *matrixMeta) write(out blob.Writer) error {
	if _, err := out.Write(make([]byte, 4)); err != nil {
		return err
	}
	w := &metaWriter{out: out}
	w.dst = append(m.appendHead(nil), `,"partMetas":{`...)
	for i := range m.parts {
		w.dst = append(append(w.dst, ","[b2i(i == 0):]...), '"')
		w.dst = append(strconv.AppendInt(w.dst, int64(m.parts[i].id), 10), '"', ':')
		m.writePart(w, &m.parts[i])
	}
	w.dst = append(w.dst, '}')
	m.writeOwn(w)
	w.dst = append(w.dst, '}')
	w.flush(true)
	if w.err != nil {
		return w.err
	}
	var length [4]byte
	wire.Big.PutUint32(length[:], uint32(w.size))
	_, err := out.WriteAt(length[:], 0)
	return err
}

// appendHead appends what comes before the partitions.
func (m *matrixMeta) appendHead(dst []byte) []byte {
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
	return append(dst, '}')
}

// writePart writes one partition.
func (m *matrixMeta) writePart(w *metaWriter, p *partMeta) {
	w.dst = append(appendPartHead(w.dst, p), `,"rowMetas":{`...)
	for i, r := range p.rowMetas.all() {
		if m.flat {
			r.off = p.off
		}
		w.dst = appendRow(append(w.dst, ","[b2i(i == 0):]...), r)
		w.flush(false)
	}
	w.dst = appendPartEnd(append(w.dst, '}'), p)
	w.flush(false)
}

// writeOwn writes our key, if there is one.
func (m *matrixMeta) writeOwn(w *metaWriter) {
	if m.version == 0 {
		return
	}
	version, own := m.version, appendOwn(nil, &m.own)
	if len(own) > 0 {
		version = 2
	}
	w.flush(true)
	sum := w.sum
	w.dst = append(appendKey(append(w.dst, `,"thole":{`...), "version", version), own...)
	if len(own) > 0 {
		w.flush(true)
		sum = w.sum
	}
	if m.sum.has {
		w.dst = appendKey(append(w.dst, ','), "crc32c", int64(sum))
	}
	w.dst = append(w.dst, '}')
}

func appendRow(dst []byte, r rowMeta) []byte {
	dst = append(strconv.AppendInt(append(dst, '"'), int64(r.id), 10), `":{`...)
	dst = appendKey(dst, "rowId", int64(r.id))
	dst = appendKey(append(dst, ','), "offset", r.off)
	dst = appendKey(append(dst, ','), "elementNum", int64(r.n))
	return append(appendKey(append(dst, ','), "saveType", int64(r.kind)), '}')
}

// appendPartHead appends what comes before the rows of a partition.
func appendPartHead(dst []byte, p *partMeta) []byte {
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
	return appendKey(append(dst, ','), "length", p.size)
}

// appendPartEnd appends what comes behind the rows of a partition.
func appendPartEnd(dst []byte, p *partMeta) []byte {
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
