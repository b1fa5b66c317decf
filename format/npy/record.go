package npy

import (
	"fmt"
	"strconv"
	"strings"

	"thole.example/format"
	"thole.example/wire"
)

// maxRecord is the largest record, gaps included, in bytes.
const maxRecord = 64 << 20

// readRecord finds types and places of the fields of a structured array.
func (h *head) readRecord() error {
	fail := func(f *field, err error) error {
		return &wire.At{Off: f.at, Err: fmt.Errorf("field %.40q: %w", f.name, err)}
	}
	r, seen, made := &format.Record{}, map[string]bool{}, true
	for i := range h.fields {
		f := &h.fields[i]
		size, gap := gapOf(f)
		if !gap {
			e, order, err := parseType(f.descr)
			if err == nil && e.Origin != "" {
				err = fmt.Errorf("%s, want one number: %w", e, format.ErrVersion)
			}
			if err != nil {
				return fail(f, err)
			}
			size = int64(e.DType.Size())
			r.Fields = append(r.Fields, format.Field{DType: e.DType, Order: order, Off: r.Size})
			if seen[f.name] {
				return fail(f, fmt.Errorf("twice, want each name once"))
			}
			seen[f.name] = true
			made = made && f.name == madeName(len(h.labels))
			h.labels = append(h.labels, f.name)
		}
		if r.Size += size; r.Size > maxRecord {
			return fail(f, fmt.Errorf("record of %d bytes or more, want at most %d: %w", r.Size, maxRecord, format.ErrLimit))
		}
	}
	if made {
		h.labels = nil
	}
	if h.fortran && !format.Flat(h.shape) {
		return &wire.At{Off: h.textOff, Err: fmt.Errorf("records of shape %s in Fortran order, want C order: %w",
			shapeText(h.shape), format.ErrVersion)}
	}
	h.record, h.fortran = r, false // both orders are the same
	return nil
}

// gapOf is the length of a field without a name and type, which NumPy has between fields that are aligned.
func gapOf(f *field) (size int64, gap bool) {
	digits, void := strings.CutPrefix(f.descr, "|V")
	n, err := strconv.ParseInt(digits, 10, 32)
	return n, f.name == "" && void && err == nil && n >= 0
}

// madeName is the name that NumPy gives to the field i where it has none: it stands for no label.
func madeName(i int) string { return "f" + strconv.Itoa(i) }
