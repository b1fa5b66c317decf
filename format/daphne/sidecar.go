package daphne

import (
	"context"
	"encoding/json"

	"thole/blob"
	"thole/matrix"
)

// sidecar is the file FILE.meta that DAPHNE asks for beside a matrix. Its keys stand in alphabetical order, as DAPHNE
// writes them.
type sidecar struct {
	NumCols     int64           `json:"numCols"`
	NumNonZeros *int64          `json:"numNonZeros,omitempty"`
	NumRows     int64           `json:"numRows"`
	Schema      []sidecarColumn `json:"schema,omitempty"`
	ValueType   string          `json:"valueType,omitempty"`
}

type sidecarColumn struct {
	Label     string `json:"label"`
	ValueType string `json:"valueType"`
}

// sidecarTypes are DAPHNE's names of value types; those of 16 bits are the document's, in the same manner.
var sidecarTypes = map[matrix.DType]string{
	matrix.U8: "ui8", matrix.U16: "ui16", matrix.U32: "ui32", matrix.U64: "ui64",
	matrix.I8: "si8", matrix.I16: "si16", matrix.I32: "si32", matrix.I64: "si64",
	matrix.F32: "f32", matrix.F64: "f64",
}

// writeSidecar writes FILE.meta if the options asked for it.
func (p *plan) writeSidecar(ctx context.Context, b blob.Bucket, path string, pieces []piece) error {
	if !p.sidecar {
		return nil
	}
	s := sidecar{NumCols: p.cols, NumRows: p.rows}
	switch p.data {
	case frame:
		for i, t := range p.types {
			s.Schema = append(s.Schema, sidecarColumn{p.labels[i], sidecarTypes[t]})
		}
	case csrMatrix:
		n := int64(0)
		for _, piece := range pieces {
			n += piece.NNZ
		}
		s.NumNonZeros = &n
		fallthrough
	default:
		s.ValueType = sidecarTypes[p.types[0]]
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return blob.WriteAll(ctx, b, path+".meta", text)
}
