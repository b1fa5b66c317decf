// Package all is the table of the storage formats.
package all

import (
	"thole/format"
	"thole/format/angel"
	"thole/format/arrow"
	"thole/format/csv"
	"thole/format/daphne"
	"thole/format/libsvm"
	"thole/format/mtx"
	"thole/format/npy"
	"thole/format/paddle"
	"thole/format/parquet"
	"thole/format/safetensors"
)

// Codecs lists the formats in the order of detection. Each call gives a new slice, to which callers may append.
func Codecs() format.Set {
	return format.Set{
		angel.Codec,
		daphne.Codec,
		paddle.Codec,
		npy.Codec,
		npy.Zipped,
		safetensors.Codec,
		mtx.Codec,
		csv.Codec,
		libsvm.Codec,
		parquet.Codec,
		arrow.Codec,
	}
}
