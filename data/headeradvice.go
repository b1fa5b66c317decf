package data

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thole.example/feature"
)

// isComment reports whether the first line is a comment: other lines have more cells than it.
func isComment(header []string, rows [][]string) bool {
	return strings.HasPrefix(header[0], "#") && len(rows) > 0 && len(rows[0]) > len(header)
}

// adviseHeader adds to an error about the names of columns what the first line may be in place of names.
func adviseHeader(err error, header []string, rows [][]string) error {
	if !errors.Is(err, feature.ErrNoColumn) {
		return err
	}
	switch words := strings.Fields(header[0]); {
	case len(header) == 1 && len(words) > 1 && len(rows) > 0 && len(strings.Fields(rows[0][0])) == len(words):
		return fmt.Errorf("%w; cells seem to be separated by blanks: tr -s ' ' , < FILE | thole ... --data - --format csv", err)
	case slices.ContainsFunc(header, isFigure):
		return fmt.Errorf("%w; the first line seems to be a row: --names NAME,NAME,... names the columns of a file without a header line", err)
	}
	return err
}

// manyFigures reports whether at least half of the names are numbers.
func manyFigures(header []string) bool {
	n := 0
	for _, name := range header {
		if isFigure(name) {
			n++
		}
	}
	return 2*n >= len(header)
}

// isFigure reports whether a name is a number.
func isFigure(name string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(name), 64)
	return err == nil && !strings.EqualFold(name, "inf") && !strings.EqualFold(name, "nan")
}
