package daphne

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"thole.example/blockio"
	"thole.example/format"
)

// settings are the codec's own options, for writing.
type settings struct {
	dialect     string
	codes       blockio.Codes
	planned     bool  // each block is stored in the way that takes the fewest bytes
	narrow      bool  // each block has the smallest value type
	tall, broad int64 // sides of the grid that blocks are cut and put together to; MaxInt64: as they are put
	sidecar     bool
	auto        bool // FILE.meta is also written where it says what the file cannot
}

var options = []format.Option{
	{Name: "dialect", Default: docName, Help: "document; daphne: one block, as DAPHNE reads it; hybrid: the document's with DAPHNE's codes; " +
		"reading: the only one to take, also daphne-0.1, or else the one that is found"},
	{Writing: true, Name: "blocks", Default: "smallest",
		Help: "smallest: each block empty, dense, CSR or COO, whichever takes the fewest bytes; " +
			"as-is: as it is in memory"},
	{Writing: true, Name: "narrow", Default: "false", Help: "true: each block in the smallest value type that holds it exactly"},
	{Writing: true, Name: "block-rows", Default: "0", Help: "rows of a block, on a regular grid; 0: as they come"},
	{Writing: true, Name: "block-cols", Default: "0", Help: "columns of a block, on a regular grid; 0: as they come"},
	{Name: "meta", Default: "auto", Help: "true: also write FILE.meta, with checksums; auto: unless the dialect is document " +
		"and the file says all; " +
		"reading: false does not look at it"},
}

// choose is the value of an option that has only some.
func choose(o *format.Options, name string, of ...string) (string, error) {
	v := o.Get(codec{}.Info(), name)
	for _, want := range of {
		if v == want {
			return v, nil
		}
	}
	return "", fmt.Errorf("option %s is %q, want %s: %w", name, v, strings.Join(of, " or "), format.ErrOption)
}

func newSettings(o *format.Options) (s settings, err error) {
	if s.dialect, err = choose(o, "dialect", docName, mainName, hybridName); err != nil {
		return s, err
	}
	blocks, err := choose(o, "blocks", "smallest", "as-is")
	if err != nil {
		return s, err
	}
	narrow, err := choose(o, "narrow", "false", "true")
	if err != nil {
		return s, err
	}
	meta, err := choose(o, "meta", "auto", "true", "false")
	if err != nil {
		return s, err
	}
	if s.tall, err = side(o, "block-rows"); err != nil {
		return s, err
	}
	if s.broad, err = side(o, "block-cols"); err != nil {
		return s, err
	}
	s.codes = blockio.Daphne
	if s.dialect == docName {
		s.codes = blockio.Document
	}
	s.planned, s.narrow = blocks == "smallest", narrow == "true"
	s.auto = meta == "auto"
	s.sidecar = meta == "true" || s.auto && s.dialect != docName
	if s.dialect == hybridName && meta == "false" {
		return s, fmt.Errorf("dialect hybrid wants FILE.meta: a file without cells would be taken for another dialect: %w", format.ErrOption)
	}
	if s.dialect == mainName && (s.narrow || s.grid()) {
		return s, fmt.Errorf("dialect daphne has one block of one value type: no narrow, no block-rows, no block-cols: %w", format.ErrOption)
	}
	return s, nil
}

// side is a side of the grid.
func side(o *format.Options, name string) (int64, error) {
	text := o.Get(codec{}.Info(), name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxUint32 {
		return 0, fmt.Errorf("option %s is %q, want a number from 0 to 2^32-1: %w", name, text, format.ErrOption)
	}
	if n == 0 {
		n = math.MaxInt64
	}
	return n, nil
}

// grid reports whether blocks lie on a regular grid.
func (s *settings) grid() bool { return s.tall != math.MaxInt64 || s.broad != math.MaxInt64 }
