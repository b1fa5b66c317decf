package parquet

import (
	"fmt"
	"slices"
	"strings"

	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
)

// nulls says what a null is.
type nulls uint8

const (
	nullError nulls = iota
	nullNaN
	nullZero
)

// reading are the options for reading.
type reading struct {
	nulls nulls
	skip  bool // columns that are not of numbers
}

// compressions are those that we write, by the names of the option.
var compressions = []struct {
	name  string
	codec pf.CompressionCodec
}{{"none", pf.Uncompressed}, {"snappy", pf.Snappy}, {"zstd", pf.Zstd}, {"lz4", pf.Lz4Raw}, {"brotli", pf.Brotli}}

// readable are the compressions that we read.
var readable = []pf.CompressionCodec{pf.Uncompressed, pf.Snappy, pf.Gzip, pf.Zstd, pf.Lz4Raw, pf.Brotli}

// choice is which of the values an option has.
func choice(o *format.Options, option string, values ...string) (int, error) {
	v := o.Get(codec{}.Info(), option)
	if i := slices.Index(values, v); i >= 0 {
		return i, nil
	}
	last := len(values) - 1
	return 0, fmt.Errorf("option %s is %q, want %s or %s: %w", option, v, strings.Join(values[:last], ", "), values[last], format.ErrOption)
}

func newReading(o *format.Options) (r reading, err error) {
	if err := o.CheckSet(codec{}.Info()); err != nil {
		return r, err
	}
	n, err := choice(o, "nulls", "error", "nan", "0")
	if err != nil {
		return r, err
	}
	other, err := choice(o, "other", "error", "skip")
	return reading{nulls: nulls(n), skip: other == 1}, err
}

func compression(o *format.Options) (pf.CompressionCodec, error) {
	var names []string
	for _, c := range compressions {
		names = append(names, c.name)
	}
	i, err := choice(o, "compression", names...)
	return compressions[i].codec, err
}
