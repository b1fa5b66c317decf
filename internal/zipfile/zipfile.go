// Package zipfile has the bytes around the members of zip archives that can be read in place: stored, not deflated, and
// beginning at multiples of 64 bytes. NumPy archives (.npz) and packed models are written with it; the headers carry no
// time and no owner, so that the same members are the same bytes.
//
// Source: PKWARE's application note on the zip format, 6.3.x, sections 4.3 (records), 4.5.3 (64-bit sizes).
//
//	local header   30 bytes, name, [64-bit sizes 20 bytes], padding 6 to 69 bytes   before each member
//	member         its bytes, as they are
//	directory      46 bytes, name, [64-bit sizes and place] for each member
//	               [56 + 20 bytes where a number does not fit 16 or 32 bits], 22 bytes
package zipfile

import (
	"math"
	"unicode/utf8"

	"thole.example/wire"
)

const (
	Alignment = 64           // of the members, in bytes
	Magic     = "PK\x03\x04" // begins a local header
	LocalLen  = 30           // bytes of a local header without name and extra fields
	UTF8Flag  = 1 << 11      // of a header whose name is UTF-8
	SumAt     = 14           // where the checksum stands in a local header, 4 bytes
)

const (
	stored     = 0
	dosDate    = 0x21   // the first of January 1980, as NumPy writes it
	zip64Extra = 1      // id of the extra field with 64-bit numbers
	alignExtra = 0xd935 // id of the extra field that only takes room, as Android's tools have it
	alignLen   = 6      // bytes of that field without the zeros
)

// Member is a file of an archive.
type Member struct {
	Name string // UTF-8, at most 65535 bytes
	Size int64
	Sum  uint32 // CRC-32
	Mode uint32 // of the file on Unix, 0o100644 for one that all may read
	At   int64  // of its local header
	Data int64  // of its first byte
}

// Place puts the member at a byte of the archive and returns where it ends.
func (m *Member) Place(at int64) (end int64) {
	m.At = at
	m.Data = at + int64(len(m.Local()))
	return m.Data + m.Size
}

// big reports whether a number does not fit the 32 bits of the old fields.
func big(v int64) bool { return v >= math.MaxUint32 }

// version is the one of zip that is needed to read the entry.
func (m *Member) version() uint16 {
	if big(m.Size) || big(m.At) {
		return 45
	}
	return 20
}

func (m *Member) flags() uint16 {
	for _, c := range []byte(m.Name) {
		if c >= utf8.RuneSelf {
			return UTF8Flag
		}
	}
	return 0
}

// fields are those that both headers have, from the version needed to the length of the name. The size in them is the
// mark of 64 bits if it does not fit.
func (m *Member) fields(b []byte) []byte {
	small := uint32(min(m.Size, math.MaxUint32))
	b = wire.AppendU16(b, wire.Little, m.version())
	b = wire.AppendU16(b, wire.Little, m.flags())
	b = wire.AppendU16(b, wire.Little, stored)
	b = wire.AppendU16(b, wire.Little, 0) // midnight
	b = wire.AppendU16(b, wire.Little, dosDate)
	for _, v := range []uint32{m.Sum, small, small} {
		b = wire.AppendU32(b, wire.Little, v)
	}
	return wire.AppendU16(b, wire.Little, uint16(len(m.Name)))
}

// Local is the header before the member, with room so that the member begins at a multiple of Alignment.
func (m *Member) Local() []byte {
	var extra []byte
	if big(m.Size) {
		extra = wire.AppendU16(wire.AppendU16(nil, wire.Little, zip64Extra), wire.Little, 16)
		extra = wire.AppendU64(wire.AppendU64(extra, wire.Little, uint64(m.Size)), wire.Little, uint64(m.Size))
	}
	end := m.At + LocalLen + int64(len(m.Name)+len(extra)) + alignLen
	pad := int(-end & (Alignment - 1))
	extra = wire.AppendU16(wire.AppendU16(extra, wire.Little, alignExtra), wire.Little, uint16(alignLen-4+pad))
	extra = append(wire.AppendU16(extra, wire.Little, Alignment), make([]byte, pad)...)
	b := m.fields([]byte(Magic))
	b = wire.AppendU16(b, wire.Little, uint16(len(extra)))
	return append(append(b, m.Name...), extra...)
}

// central is the member's line of the directory.
func (m *Member) central(b []byte) []byte {
	var extra []byte
	if big(m.Size) {
		extra = wire.AppendU64(wire.AppendU64(extra, wire.Little, uint64(m.Size)), wire.Little, uint64(m.Size))
	}
	if big(m.At) {
		extra = wire.AppendU64(extra, wire.Little, uint64(m.At))
	}
	if len(extra) > 0 {
		extra = append(wire.AppendU16(wire.AppendU16(nil, wire.Little, zip64Extra), wire.Little, uint16(len(extra))), extra...)
	}
	b = append(b, "PK\x01\x02"...)
	b = wire.AppendU16(b, wire.Little, 3<<8|m.version()) // made by a Unix system
	b = m.fields(b)
	b = wire.AppendU16(b, wire.Little, uint16(len(extra)))
	b = append(b, 0, 0, 0, 0, 0, 0) // no comment, first disk, no text
	b = wire.AppendU32(b, wire.Little, m.Mode<<16)
	b = wire.AppendU32(b, wire.Little, uint32(min(m.At, math.MaxUint32)))
	return append(append(b, m.Name...), extra...)
}

// Directory is what stands behind the last member, at byte at.
func Directory(all []Member, at int64) []byte {
	var b []byte
	for i := range all {
		b = all[i].central(b)
	}
	n, size := len(all), int64(len(b))
	if n >= math.MaxUint16 || big(at) || big(size) {
		b = append(b, "PK\x06\x06"...)
		b = wire.AppendU64(b, wire.Little, 44) // length of what follows of the record
		b = wire.AppendU16(wire.AppendU16(b, wire.Little, 3<<8|45), wire.Little, 45)
		b = append(b, make([]byte, 8)...) // disks
		for _, v := range []int64{int64(n), int64(n), size, at} {
			b = wire.AppendU64(b, wire.Little, uint64(v))
		}
		b = append(b, "PK\x06\x07\x00\x00\x00\x00"...)
		b = wire.AppendU64(b, wire.Little, uint64(at+size))
		b = wire.AppendU32(b, wire.Little, 1) // disks
	}
	b = append(b, "PK\x05\x06\x00\x00\x00\x00"...)
	for range 2 {
		b = wire.AppendU16(b, wire.Little, uint16(min(n, math.MaxUint16)))
	}
	b = wire.AppendU32(b, wire.Little, uint32(min(size, math.MaxUint32)))
	b = wire.AppendU32(b, wire.Little, uint32(min(at, math.MaxUint32)))
	return append(b, 0, 0) // no comment
}
