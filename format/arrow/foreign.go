package arrow

import (
	"encoding/binary"
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// AppendSchema appends the message of a schema of numeric columns, as other formats keep one to say what their own types
// cannot. times has what the columns stand for, the zero one for plain numbers; nil: all are.
func AppendSchema(b []byte, labels []string, types []matrix.DType, times []format.TimeType) []byte {
	t := table{times: times}
	fields := [][]val{}
	for i, d := range types {
		fields = append(fields, t.column(labels[i], d, int64(i)))
	}
	head := []val{{slot: 0, v: int16(0)}, {slot: 1, v: fields}}
	meta := buildFlat([]val{{slot: 0, v: int16(4)}, {slot: 1, v: uint8(kindSchema)}, {slot: 2, v: head}, {slot: 3, v: int64(0)}})
	for len(meta)%8 != 0 {
		meta = append(meta, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, goesOn)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(meta)))
	return append(b, meta...)
}

// SchemaTimes reads the message of a schema: the names of its columns, and what each stands for, the zero one for plain
// numbers and all that is no number. The bytes need not be trusted.
func SchemaTimes(b []byte) (labels []string, times []format.TimeType, err error) {
	m := message{prefix: 4}
	if len(b) >= 8 && binary.LittleEndian.Uint32(b) == goesOn {
		m.prefix = 8
	}
	if int64(len(b)) < m.prefix || int64(len(b)) > metaLimit {
		return nil, nil, fmt.Errorf("message of %d bytes, want at least %d: %w", len(b), m.prefix, format.ErrCorrupt)
	}
	n := int64(binary.LittleEndian.Uint32(b[m.prefix-4:]))
	if n > int64(len(b))-m.prefix {
		return nil, nil, fmt.Errorf("message of %d bytes in %d: %w", n, int64(len(b))-m.prefix, format.ErrCorrupt)
	}
	if err := m.parse(b[m.prefix:m.prefix+n], m.prefix+n); err != nil {
		return nil, nil, err
	}
	if m.kind != kindSchema {
		return nil, nil, fmt.Errorf("a %s, want a schema: %w", kindName(m.kind), format.ErrCorrupt)
	}
	s, err := readSchema(m.head, m.version, true)
	if err != nil {
		return nil, nil, err
	}
	for i := range s.fields {
		when, _ := format.ParseTimeType(s.fields[i].origin)
		labels, times = append(labels, s.fields[i].name), append(times, when)
	}
	return labels, times, nil
}
