package npy

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/zipfile"
	"thole.example/matrix"
	"thole.example/wire"
)

const (
	inflateLimit = 256 << 20 // bytes held of a deflated array in Fortran order; more if it is 16 times what it is deflated to
	besideRatio  = 64        // times its packed bytes may a file next to the arrays have, once all of them have besideSure bytes
	besideSure   = 16 << 20
	ending       = ".npy"
)

// archive is what the directory of an archive and the heads of its arrays say.
type archive struct {
	members []*member
	ms      []matrix.Meta
	sparse  *sparse // behind the others in ms
	files   map[string][]byte
	notes   []string
	others  []other
}

// other is an array that is not of numbers, and what is said of it.
type other struct {
	base string
	m    *member
	err  error
}

// member is one array of an archive.
type member struct {
	file *zip.File
	obj  blob.Object // the archive
	off  int64       // of its first byte, as stored
	head head
}

// readArchive reads directory and heads, and checks that no two members share bytes. skip leaves out arrays that are not of numbers.
func readArchive(ctx context.Context, o blob.Object, skip bool) (a archive, err error) {
	start := make([]byte, min(int64(len(zipfile.Magic)), o.Size()))
	if err := wire.ReadAt(o, start, 0); err != nil {
		return a, err
	}
	if string(start) != zipfile.Magic {
		return a, &wire.At{Off: 0, Err: fmt.Errorf("% x, want a zip archive", start)}
	}
	z, err := zip.NewReader(o, o.Size())
	if err != nil {
		return a, damaged(o.Size(), "directory", err)
	}
	seen := map[string]bool{}
	var all []*member
	for _, f := range z.File {
		if err := ctx.Err(); err != nil {
			return a, err
		}
		m := &member{file: f, obj: o}
		if m.off, err = f.DataOffset(); err != nil {
			return a, damaged(o.Size(), f.Name, err)
		}
		if f.Name, err = nameOf(f); err != nil {
			return a, &wire.At{Off: m.off, Err: err}
		}
		if seen[f.Name] {
			return a, &wire.At{Off: m.off, Err: fmt.Errorf("a second member %q", f.Name)}
		}
		seen[f.Name] = true
		all = append(all, m)
		if err := a.add(m); err != nil {
			return a, err
		}
	}
	if err := a.sort(skip); err != nil {
		return a, err
	}
	if len(a.ms) == 0 {
		return a, &wire.At{Off: o.Size(), Err: fmt.Errorf("%d members, none of which is an array: %w", len(z.File), format.ErrMatrix)}
	}
	return a, apart(all, o.Size())
}

// codePage437 are the upper half of the characters that names of zip archives have where no flag says UTF-8 (PKWARE's note,
// appendix D).
var codePage437 = []rune("" +
	"ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
	"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

// nameOf is the name of a member in UTF-8, short enough to be written again. Many programs write UTF-8 without the flag for it,
// so only other bytes are taken for code page 437.
func nameOf(f *zip.File) (string, error) {
	name := f.Name
	if !utf8.ValidString(name) {
		if f.Flags&zipfile.UTF8Flag != 0 {
			return "", fmt.Errorf("member %.80q, want a name in UTF-8, as its flag says", name)
		}
		var b strings.Builder
		for _, c := range []byte(name) {
			if c < utf8.RuneSelf {
				b.WriteByte(c)
			} else {
				b.WriteRune(codePage437[c-utf8.RuneSelf])
			}
		}
		name = b.String()
	}
	if len(name) > math.MaxUint16 {
		return "", fmt.Errorf("member %.80q, want a name of at most %d bytes of UTF-8: %w", name, math.MaxUint16, format.ErrLimit)
	}
	return name, nil
}

// apart checks that the bytes of each member lie within the archive and belong to no other.
func apart(all []*member, size int64) error {
	slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.off, b.off) })
	next := int64(0)
	for _, m := range all {
		n := m.file.CompressedSize64
		if n > math.MaxInt64 || m.off > size || int64(n) > size-m.off {
			return &wire.At{Off: m.off, Err: fmt.Errorf("member %q of %d bytes, %d remain: %w", m.file.Name, n, size-m.off, wire.ErrTruncated)}
		}
		if m.off-zipfile.LocalLen < next {
			return &wire.At{Off: m.off, Err: fmt.Errorf("member %q begins within another", m.file.Name)}
		}
		next = m.off + int64(n)
	}
	return nil
}

// add reads the head of an array, or a file beside the arrays.
func (a *archive) add(m *member) error {
	f := m.file
	base, isArray := strings.CutSuffix(f.Name, ending)
	switch {
	case f.Flags&1 != 0:
		return &wire.At{Off: m.off, Err: fmt.Errorf("member %q is encrypted: %w", f.Name, format.ErrVersion)}
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return &wire.At{Off: m.off, Err: fmt.Errorf("member %q by method %d, want stored or deflated: %w", f.Name, f.Method, format.ErrVersion)}
	case f.UncompressedSize64 > math.MaxInt64 || f.Method == zip.Store && f.UncompressedSize64 != f.CompressedSize64:
		return &wire.At{Off: m.off, Err: fmt.Errorf("member %q of %d bytes as %d", f.Name, f.UncompressedSize64, f.CompressedSize64)}
	case !isArray:
		return a.beside(m)
	}
	o, err := m.open()
	if err != nil {
		return err
	}
	defer o.Close()
	m.head, err = readHead(o)
	if errors.Is(err, format.ErrVersion) && m.head.text != nil {
		var where *wire.At
		if errors.As(err, &where) {
			err = &wire.At{Off: where.Off, Err: fmt.Errorf("%w (the option other=skip leaves it out)", where.Err)}
		}
		a.others = append(a.others, other{base, m, err})
		return nil
	}
	if err != nil {
		return m.at(err)
	}
	a.members, a.ms = append(a.members, m), append(a.ms, m.head.meta(base))
	return nil
}

// sort finds the sparse matrix among the arrays, and what is left out.
func (a *archive) sort(skip bool) error {
	arrays := map[string]*member{}
	for _, m := range a.members {
		arrays[strings.TrimSuffix(m.file.Name, ending)] = m
	}
	var skipped []string
	var err error
	for _, o := range a.others {
		if kind, ok := textOf(o.m); ok && o.base == formatPart && a.sparse == nil {
			if a.sparse, err = newSparse(kind, arrays); err != nil {
				return err
			}
			if a.sparse != nil {
				continue
			}
		}
		if !skip {
			return o.m.at(o.err)
		}
		skipped = append(skipped, fmt.Sprintf("%s (%s)", o.base, o.m.head.typeName()))
	}
	if skipped != nil {
		a.notes = append(a.notes, format.Warning("arrays left out: "+strings.Join(skipped, ", ")))
	}
	if a.sparse == nil {
		return nil
	}
	for _, part := range a.sparse.parts {
		i := slices.Index(a.members, part)
		a.members, a.ms = slices.Delete(a.members, i, i+1), slices.Delete(a.ms, i, i+1)
	}
	a.ms = append(a.ms, a.sparse.meta(""))
	return nil
}

// name gives the sparse matrix the name of the file.
func (a *archive) name(name string) error {
	if a.sparse == nil {
		return nil
	}
	for i, m := range a.members {
		if a.ms[i].Name == name {
			return &wire.At{Off: m.off, Err: fmt.Errorf("an array %q in addition to a sparse matrix, which has that name from the file", name)}
		}
	}
	a.ms[len(a.members)].Name = name
	return nil
}

// beside keeps a small member that is no array.
func (a *archive) beside(m *member) error {
	n := int64(m.file.UncompressedSize64)
	if strings.HasSuffix(m.file.Name, "/") {
		return nil
	}
	why := format.TooLong(m.file.Name, n)
	if packed := int64(min(m.file.CompressedSize64, math.MaxInt32)); why == "" && n+a.size() > besideSure && n/besideRatio > packed {
		why = fmt.Sprintf("%d bytes of %d packed ones, want at most %d times as many", n, packed, besideRatio)
	}
	if why != "" {
		a.notes = append(a.notes, format.Warning(fmt.Sprintf("member %s left out: %s", m.file.Name, why)))
		return nil
	}
	o, err := m.open()
	if err != nil {
		return err
	}
	defer o.Close()
	data := make([]byte, 0, 512)
	for int64(len(data)) < n { // as long as it inflates, whatever the directory says
		step := int(min(n-int64(len(data)), 1<<16))
		data = slices.Grow(data, step)
		if err := wire.ReadAt(o, data[len(data):len(data)+step], int64(len(data))); err != nil {
			return m.at(err)
		}
		data = data[:len(data)+step]
	}
	if a.files == nil {
		a.files = map[string][]byte{}
	}
	a.files[m.file.Name] = data
	return nil
}

func (a *archive) size() (n int64) {
	for _, data := range a.files {
		n += int64(len(data))
	}
	return n
}

func (a *archive) dialect() string {
	if s := a.sparse; s != nil {
		return fmt.Sprintf("a sparse matrix of SciPy (%s), and %d arrays", s.kind, len(a.members))
	}
	deflated := 0
	for _, m := range a.members {
		if m.file.Method == zip.Deflate {
			deflated++
		}
	}
	return fmt.Sprintf("%d arrays, %d of them deflated", len(a.members), deflated)
}

// open is the member as a file of its own.
func (m *member) open() (blob.Object, error) {
	n := int64(m.file.UncompressedSize64)
	if m.file.Method == zip.Store {
		return section{io.NewSectionReader(m.obj, m.off, n)}, nil
	}
	return &forward{m: m, size: n}, nil
}

// at makes an error within a member one of the archive: at its byte if the member is stored, else at its first.
func (m *member) at(err error) error {
	var where *wire.At
	if !errors.As(err, &where) {
		return err
	}
	if m.file.Method == zip.Store {
		return &wire.At{Off: m.off + where.Off, Err: fmt.Errorf("member %q: %w", m.file.Name, where.Err)}
	}
	return &wire.At{Off: m.off, Err: fmt.Errorf("member %q, inflated byte %d: %w", m.file.Name, where.Off, where.Err)}
}

// damaged makes an error of the zip reader one of the archive.
func damaged(off int64, what string, err error) error {
	if errors.Is(err, zip.ErrAlgorithm) {
		err = fmt.Errorf("%w: %w", err, format.ErrVersion)
	}
	return &wire.At{Off: off, Err: fmt.Errorf("%s: %w", what, err)}
}

// section is a stored member.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

// forward is a deflated member. Reads behind each other are quick; one further back begins anew.
type forward struct {
	m    *member
	size int64
	in   io.ReadCloser
	pos  int64
}

func (f *forward) Size() int64 { return f.size }

func (f *forward) Close() error {
	if f.in == nil {
		return nil
	}
	return f.in.Close()
}

// ReadAt implements io.ReaderAt, for one goroutine at a time.
func (f *forward) ReadAt(p []byte, off int64) (int, error) {
	if f.in == nil || off < f.pos {
		f.Close()
		in, err := f.m.file.Open()
		if err != nil {
			return 0, err
		}
		f.in, f.pos = in, 0
	}
	skipped, err := io.CopyN(io.Discard, f.in, off-f.pos)
	f.pos += skipped
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(f.in, p)
	f.pos += int64(n)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// end reads what is left, so that the checksum is compared.
func (f *forward) end() error {
	if f.in == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, f.in); err != nil {
		return &wire.At{Off: f.pos, Err: err}
	}
	return nil
}

// held is a deflated member in memory.
type held struct{ *bytes.Reader }

func (held) Close() error { return nil }

// inflate reads the whole member, if that is not beyond what its size allows.
func (m *member) inflate() (blob.Object, error) {
	n := int64(m.file.UncompressedSize64)
	if limit := max(inflateLimit, 16*min(int64(m.file.CompressedSize64), math.MaxInt64/16)); n > limit {
		return nil, &wire.At{Off: m.off, Err: fmt.Errorf("member %q of %d bytes in Fortran order, deflated, want at most %d: %w",
			m.file.Name, n, limit, format.ErrLimit)}
	}
	f := &forward{m: m, size: n}
	defer f.Close()
	var data bytes.Buffer
	in, err := m.file.Open()
	if err == nil {
		f.in = in
		_, err = io.Copy(&data, io.LimitReader(in, n+1))
	}
	if err == nil && int64(data.Len()) != n {
		err = fmt.Errorf("%d bytes, want %d", data.Len(), n)
	}
	if err != nil {
		return nil, &wire.At{Off: m.off, Err: fmt.Errorf("member %q: %w", m.file.Name, err)}
	}
	return held{bytes.NewReader(data.Bytes())}, nil
}

// looksZipped reports whether the archive begins with a member that is named as an array is.
func looksZipped(o blob.Object) bool {
	start := make([]byte, zipfile.LocalLen)
	if _, err := o.ReadAt(start, 0); err != nil || string(start[:len(zipfile.Magic)]) != zipfile.Magic {
		return false
	}
	file := make([]byte, wire.Little.Uint16(start[26:]))
	_, err := o.ReadAt(file, zipfile.LocalLen)
	return err == nil && strings.HasSuffix(string(file), ending)
}
