// Package all is the table of the storage formats.
package all

import (
	"thole.example/format"
	"thole.example/format/angel"
	"thole.example/format/arrow"
	"thole.example/format/csv"
	"thole.example/format/daphne"
	"thole.example/format/libsvm"
	"thole.example/format/lightgbm"
	"thole.example/format/mtx"
	"thole.example/format/npy"
	"thole.example/format/paddle"
	"thole.example/format/parquet"
	"thole.example/format/safetensors"
	"thole.example/format/xgboost"
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
		lightgbm.Codec,
		xgboost.Codec,
		mtx.Codec,
		csv.Codec,
		libsvm.Codec,
		parquet.Codec,
		arrow.Codec,
	}
}
