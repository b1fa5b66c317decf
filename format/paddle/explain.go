package paddle

import (
	"context"
	"fmt"
	"strings"

	"thole.example/matrix"
)

// shownValues is how many bytes of values an explanation shows of each record; lineBytes of them stand on a line.
const shownValues, lineBytes = 64, 8

// printValues prints the first values of the record and says how many are left out.
func printValues(s *scan, r *record) {
	n := min(shownValues, r.end-r.values)
	for off := int64(0); off < n; off += lineBytes {
		raw := make([]byte, min(lineBytes, n-off))
		if s.err = readAt(s.r, raw, r.values+off); s.err != nil {
			return
		}
		s.print.Field(r.values+off, raw, "%s", valueText(s, r, off, int64(len(raw))))
	}
	if rest := r.end - r.values - n; rest > 0 {
		s.print.Gap(r.values+n, rest, "more values of %q", r.name)
	}
}

// valueText is the values in n bytes, off bytes behind the first, with the cell that they begin in.
func valueText(s *scan, r *record, off, n int64) string {
	size := int64(r.dtype.Size())
	slab := r.slab(s)
	slab.At, slab.Off = matrix.At(0, 1, 0, n/size), r.values+off
	var words []string
	for b, err := range slab.Blocks(context.Background(), s.r, slab.At) {
		if err == nil {
			err = b.EachText(func(_, _ int64, v []byte) error {
				words = append(words, string(v))
				return nil
			})
		}
		if err != nil {
			return err.Error()
		}
	}
	cell := off / size
	return fmt.Sprintf("cell (%d,%d): %s", cell/r.cols, cell%r.cols, strings.Join(words, ", "))
}
