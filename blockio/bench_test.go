package blockio_test

import (
	"testing"

	"thole.example/blockio"
	"thole.example/matrix"
	"thole.example/wire"
)

// benchBlock is 2^15 rows of 32 cells each.
func benchBlock(d matrix.DType) matrix.Block {
	const rows, per = 1 << 15, 32
	ptr, idx := make([]int, 1, rows+1), make([]int64, 0, rows*per)
	for r := range rows {
		for k := range per {
			idx = append(idx, int64(k*1000+r%1000))
		}
		ptr = append(ptr, len(idx))
	}
	return matrix.Block{At: matrix.At(0, rows, 0, per*1000), Data: matrix.KindOf(d).CSR(ptr, idx)}
}

func BenchmarkAppendCSR(b *testing.B) {
	for _, d := range []matrix.DType{matrix.F64, matrix.F32, matrix.U8} {
		b.Run(d.String(), func(b *testing.B) {
			blk := benchBlock(d)
			n, _ := blockio.Size(blk)
			dst := make([]byte, 0, n+64)
			b.SetBytes(int64(n))
			for b.Loop() {
				if _, err := blockio.Append(dst, blk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadCSR(b *testing.B) {
	for _, d := range []matrix.DType{matrix.F64, matrix.F32, matrix.U8} {
		b.Run(d.String(), func(b *testing.B) {
			enc, _ := blockio.Append(nil, benchBlock(d))
			b.SetBytes(int64(len(enc)))
			for b.Loop() {
				if _, err := blockio.Read(wire.NewCursor(enc, 0, wire.Little)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadDense(b *testing.B) {
	enc, _ := blockio.Append(nil, matrix.NewDense(matrix.F32, matrix.At(0, 64, 0, 1<<14)))
	for _, inPlace := range []bool{false, true} {
		b.Run(map[bool]string{false: "copy", true: "in place"}[inPlace], func(b *testing.B) {
			b.SetBytes(int64(len(enc)))
			shifted := append(make([]byte, 6, len(enc)+6), enc...)[6:] // the values begin at 32
			for b.Loop() {
				if _, err := (blockio.Decoder{InPlace: inPlace}).Read(wire.NewCursor(shifted, 0, wire.Little)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
