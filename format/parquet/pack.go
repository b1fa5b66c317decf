package parquet

import (
	"bytes"

	"github.com/andybalholm/brotli"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/compress/zstd"
	pf "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// brotliLevel is a level at which brotli is about as fast as the others at theirs.
const brotliLevel = 4

// packer compresses pages, one at a time.
type packer struct {
	codec pf.CompressionCodec
	zstd  zstd.Codec
	lz4   lz4.Compressor
	out   []byte
}

// pack compresses a page. The result is good until the next one.
func (p *packer) pack(page []byte) (packed []byte, err error) {
	switch p.codec {
	case pf.Snappy:
		p.out, err = (&snappy.Codec{}).Encode(p.out[:cap(p.out)], page)
	case pf.Zstd:
		p.out, err = p.zstd.Encode(p.out, page)
	case pf.Lz4Raw:
		p.out = grown(p.out, lz4.CompressBlockBound(len(page)))
		var n int
		n, err = p.lz4.CompressBlock(page, p.out)
		p.out = p.out[:n]
	case pf.Brotli:
		out := bytes.NewBuffer(p.out[:0])
		w := brotli.NewWriterLevel(out, brotliLevel)
		if _, err = w.Write(page); err == nil {
			err = w.Close()
		}
		p.out = out.Bytes()
	default:
		return page, nil
	}
	return p.out, err
}
