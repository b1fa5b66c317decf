package pack

import (
	"math"

	"thole/format"
	"thole/internal/wire"
)

const (
	alignment  = 64 // of the files, in bytes
	localLen   = 30 // of a local header without name and extra fields
	localMagic = "PK\x03\x04"
	zip64Extra = 1       // id of the extra field with 64-bit numbers
	alignExtra = 0xd935  // id of the extra field that only takes room
	alignLen   = 6       // bytes of that field without its zeros
	dosDate    = 0x21    // the first of January 1980: the same model is the same bytes
	utf8Flag   = 1 << 11 // in headers
)

// member is a file of an archive.
type member struct {
	name string
	size int64
	sum  uint32 // CRC32
	at   int64  // of its header
	data int64  // of its first byte
}

// big tells whether a number does not fit the 32 bits of the old fields.
func big(v int64) bool { return v >= math.MaxUint32 }

// fields are what both headers of a member have, from the version needed to the length of the name.
func (m *member) fields(b []byte) []byte {
	need, small := uint16(20), uint32(min(m.size, math.MaxUint32))
	if big(m.size) || big(m.at) {
		need = 45
	}
	for _, v := range []uint16{need, utf8Flag, 0, 0, dosDate} { // stored, midnight
		b = wire.AppendU16(b, wire.Little, v)
	}
	for _, v := range []uint32{m.sum, small, small} {
		b = wire.AppendU32(b, wire.Little, v)
	}
	return wire.AppendU16(b, wire.Little, uint16(len(m.name)))
}

// sumAt is where the CRC32 stands in a local header.
const sumAt = 14

// local is the header before the member.
func (m *member) local() []byte {
	var extra []byte
	if big(m.size) {
		extra = wire.AppendU16(wire.AppendU16(nil, wire.Little, zip64Extra), wire.Little, 16)
		extra = wire.AppendU64(wire.AppendU64(extra, wire.Little, uint64(m.size)), wire.Little, uint64(m.size))
	}
	end := m.at + localLen + int64(len(m.name)+len(extra)) + alignLen
	pad := int(-end & (alignment - 1))
	extra = wire.AppendU16(wire.AppendU16(extra, wire.Little, alignExtra), wire.Little, uint16(alignLen-4+pad))
	extra = append(wire.AppendU16(extra, wire.Little, alignment), make([]byte, pad)...)
	b := m.fields([]byte(localMagic))
	b = wire.AppendU16(b, wire.Little, uint16(len(extra)))
	return append(append(b, m.name...), extra...)
}

// central is the line of the member in the directory.
func (m *member) central(b []byte) []byte {
	var extra []byte
	if big(m.size) {
		extra = wire.AppendU64(wire.AppendU64(extra, wire.Little, uint64(m.size)), wire.Little, uint64(m.size))
	}
	if big(m.at) {
		extra = wire.AppendU64(extra, wire.Little, uint64(m.at))
	}
	if len(extra) > 0 {
		extra = append(wire.AppendU16(wire.AppendU16(nil, wire.Little, zip64Extra), wire.Little, uint16(len(extra))), extra...)
	}
	b = wire.AppendU16(append(b, "PK\x01\x02"...), wire.Little, 3<<8|45) // made by a Unix system
	b = m.fields(b)
	b = wire.AppendU16(b, wire.Little, uint16(len(extra)))
	b = append(b, 0, 0, 0, 0, 0, 0)                  // no comment, first disk, no text
	b = wire.AppendU32(b, wire.Little, 0o100644<<16) // a file that all may read
	b = wire.AppendU32(b, wire.Little, uint32(min(m.at, math.MaxUint32)))
	return append(append(b, m.name...), extra...)
}

// directory is what stands behind the last member, at byte at.
func directory(all []member, at int64) []byte {
	var b []byte
	for i := range all {
		b = all[i].central(b)
	}
	n, size := int64(len(all)), int64(len(b))
	if n >= math.MaxUint16 || big(at) || big(size) {
		b = wire.AppendU64(append(b, "PK\x06\x06"...), wire.Little, 44) // length of what follows of the record
		b = wire.AppendU16(wire.AppendU16(b, wire.Little, 3<<8|45), wire.Little, 45)
		b = append(b, make([]byte, 8)...) // disks
		for _, v := range []int64{n, n, size, at} {
			b = wire.AppendU64(b, wire.Little, uint64(v))
		}
		b = wire.AppendU64(append(b, "PK\x06\x07\x00\x00\x00\x00"...), wire.Little, uint64(at+size))
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

// plan says where the files of a manifest of n bytes lie in the archive.
func plan(m *Manifest, n int64) (all []member, end int64) {
	files := append([]File{{Name: Name, Size: n}}, m.Files...)
	for _, f := range files {
		one := member{name: f.Name, size: f.Size, at: end}
		one.data = end + int64(len(one.local()))
		end = one.data + one.size
		all = append(all, one)
	}
	return all, end
}

// frame is all bytes of the archive that are not of a file.
func frame(all []member, end int64) (spans []format.Span) {
	for i := range all {
		spans = append(spans, format.Span{Off: all[i].at, Bytes: all[i].local()})
	}
	return append(spans, format.Span{Off: end, Bytes: directory(all, end)})
}
