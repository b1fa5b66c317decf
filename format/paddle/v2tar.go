package paddle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"thole.example/format"
	"thole.example/wire"
)

const (
	tarBlock     = 512 // bytes
	configEnding = ".protobuf"
	maxConfig    = 1 << 20 // bytes of a parameter's configuration
	maxMembers   = 1 << 20
)

// v2Tar is a tape archive of all parameters of the second API version. For each parameter it has a file with the
// parameter's name, as v2Param describes it, and a file NAME.protobuf with a ParameterConfig message: field 1 name, 2
// number of values, 9 dimensions (none: one row); the others say how it was trained. Behind the last file stand two blocks
// of 512 zero bytes or more.
var v2Tar = layout{name: "v2tar", like: likeTar, walk: walkTar}

func likeTar(head []byte, _ int64) bool {
	return len(head) >= 262 && bytes.Equal(head[257:262], []byte("ustar"))
}

// member is one file of an archive.
type member struct {
	name   string
	header int64 // begin of its headers
	off    int64
	size   int64
}

func walkTar(l *listing) {
	s := l.scan
	members, err := readMembers(s.r, s.size)
	if err != nil {
		s.err = err
		return
	}
	configs := map[string]*member{}
	params := map[string]bool{}
	for i := range members {
		if base, ok := strings.CutSuffix(members[i].name, configEnding); ok {
			configs[base] = &members[i]
		} else {
			params[members[i].name] = true
		}
	}
	for i := range members {
		m := &members[i]
		if base, ok := strings.CutSuffix(m.name, configEnding); !ok {
			l.member(m, configs[m.name])
		} else if !params[base] {
			s.failAt(m.header, "configuration of %q, want a file with its values too", base)
		} else if s.print != nil {
			l.printConfig(m)
		}
	}
}

// readMembers lists the files of an archive and checks that it is whole.
func readMembers(r io.ReaderAt, size int64) (members []member, err error) {
	in := io.NewSectionReader(r, 0, size)
	t := tar.NewReader(in)
	var end int64
	seen := map[string]bool{}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		at, _ := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, &wire.At{Off: end, Err: fmt.Errorf("header of an archived file: %w", tarError(err))}
		}
		m := member{name: h.Name, header: end, off: at, size: h.Size}
		switch {
		case h.Typeflag != tar.TypeReg:
			return nil, &wire.At{Off: end, Err: fmt.Errorf("%q is of type %q, want a file", h.Name, h.Typeflag)}
		case h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
			return nil, &wire.At{Off: end, Err: fmt.Errorf("%q has holes, want a plain file: %w", h.Name, format.ErrVersion)}
		case seen[h.Name]:
			return nil, &wire.At{Off: end, Err: fmt.Errorf("a second file named %q, want each name once", h.Name)}
		case m.size > size-at:
			return nil, &wire.At{Off: at, Err: fmt.Errorf("%q needs %d bytes, %d remain: %w", h.Name, m.size, size-at, wire.ErrTruncated)}
		case len(members) == maxMembers:
			return nil, &wire.At{Off: end, Err: fmt.Errorf("more than %d files: %w", maxMembers, format.ErrLimit)}
		}
		seen[h.Name] = true
		members = append(members, m)
		end = at + (m.size+tarBlock-1)/tarBlock*tarBlock
	}
	if len(members) == 0 {
		return nil, &wire.At{Off: 0, Err: fmt.Errorf("an archive without a file")}
	}
	return members, checkTail(r, end, size)
}

// tarError says of the archive reader's errors what they are here.
func tarError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return wire.ErrTruncated
	}
	return err
}

// checkTail checks that an archive ends with zero blocks, two or more, and nothing else.
func checkTail(r io.ReaderAt, end, size int64) error {
	if size-end < 2*tarBlock || size%tarBlock != 0 {
		return &wire.At{Off: size, Err: fmt.Errorf("an archive without its end, whole blocks of zeros, two or more: %w", wire.ErrTruncated)}
	}
	buf := make([]byte, min(hashBytes, size-end))
	for off := end; off < size; off += int64(len(buf)) {
		b := buf[:min(int64(len(buf)), size-off)]
		if err := readAt(r, b, off); err != nil {
			return err
		}
		for i, v := range b {
			if v != 0 {
				return &wire.At{Off: off + int64(i), Err: fmt.Errorf("byte %#02x behind the archive, want zeros", v)}
			}
		}
	}
	return nil
}

// member adds the parameter of a file with its configuration.
func (l *listing) member(m, config *member) {
	s := l.scan
	if s.err == nil && config == nil {
		s.failAt(m.header, "parameter %q without its file %s%s", m.name, m.name, configEnding)
	}
	if s.err != nil {
		return
	}
	c, err := readConfig(s.r, config)
	if err == nil && c.name != m.name {
		err = &wire.At{Off: config.off, Err: fmt.Errorf("configuration of %q, want of %q, as its file is called", c.name, m.name)}
	}
	if err != nil {
		s.err = err
		return
	}
	l.head("file %s", m.name)
	if s.print != nil {
		s.print.Gap(m.header, m.off-m.header, "header of the file")
	}
	whole := s.size
	s.off, s.size = m.off, m.off+m.size
	r := l.readRaw(m.name, c.dims)
	l.end("the values")
	s.size = whole
	l.addRecord(&r)
}

func readConfig(r io.ReaderAt, m *member) (c paramConfig, err error) {
	if m.size > maxConfig {
		return c, &wire.At{Off: m.off, Err: fmt.Errorf("%s of %d bytes, want at most %d: %w", m.name, m.size, maxConfig, format.ErrLimit)}
	}
	b := make([]byte, m.size)
	if err := readAt(r, b, m.off); err != nil {
		return c, err
	}
	return parseConfig(b, m.off)
}

// printConfig prints a configuration field by field.
func (l *listing) printConfig(m *member) {
	s := l.scan
	l.head("file %s", m.name)
	if s.err != nil || m.size > maxConfig {
		return
	}
	s.print.Gap(m.header, m.off-m.header, "header of the file")
	b := make([]byte, m.size)
	if s.err = readAt(s.r, b, m.off); s.err != nil {
		return
	}
	from := 0
	_ = eachField(b, m.off, func(f protoField) error {
		_, n, err := nextField(b[from:], f.off)
		s.print.Field(f.off, b[from:from+n], "%s", configText(f))
		from += n
		return err
	})
}

// configText says what a field of a ParameterConfig means.
func configText(f protoField) string {
	switch {
	case f.number == 1 && f.wire == wireBytes:
		return fmt.Sprintf("name %q", f.body)
	case f.number == 2 && f.wire == wireVarint:
		return fmt.Sprintf("%d values", f.value)
	case f.number == 9 && f.wire == wireVarint:
		return fmt.Sprintf("dimension %d", f.value)
	}
	return fmt.Sprintf("field %d, of training", f.number)
}
