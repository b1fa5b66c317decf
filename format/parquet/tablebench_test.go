package parquet

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"

	"thole.example/matrix"
)

// benchRow is a row of examples as they come: words of which there are few, ids as text of which there are many, numbers.
type benchRow struct {
	Site   string   `parquet:"site,dict"`
	App    string   `parquet:"app,dict"`
	Device *string  `parquet:"device,optional,dict"`
	User   string   `parquet:"user"`
	Count  int64    `parquet:"count"`
	Price  *float64 `parquet:"price,optional"`
}

// BenchmarkTable reads 200 000 rows of text and numbers; its bytes are those of the same table as CSV.
func BenchmarkTable(b *testing.B) {
	rows, csv := make([]benchRow, 200_000), [6]int64{}
	for i := range rows {
		r := &rows[i]
		*r = benchRow{Site: fmt.Sprintf("site-%d.example", i*7919%1000), App: fmt.Sprintf("app%d", i*31%97),
			User:  fmt.Sprintf("%016x", i*2654435761),
			Count: int64(i % 1000)}
		device, price := strconv.Itoa(i%13*100003), float64(i%512)/4
		if i%5 > 0 {
			r.Device, r.Price = &device, &price
			csv[2], csv[5] = csv[2]+int64(len(device)), csv[5]+int64(len(fmt.Sprint(price)))
		}
		for k, n := range []int{len(r.Site) + 1, len(r.App) + 1, 1, len(r.User) + 1, len(strconv.Itoa(i%1000)) + 1, 1} {
			csv[k] += int64(n)
		}
	}
	for _, codec := range []struct {
		name   string
		option parquet.WriterOption
	}{{"plain", parquet.Compression(&parquet.Uncompressed)}, {"snappy", parquet.Compression(&parquet.Snappy)}} {
		table := openTable(b, library(b, rows, codec.option))
		for _, c := range []struct {
			name    string
			columns []int
		}{{"dictionary", []int{0, 1, 2}}, {"text", []int{3}}, {"numbers", []int{4, 5}}, {"all", []int{0, 1, 2, 3, 4, 5}}} {
			b.Run(codec.name+"/"+c.name, func(b *testing.B) {
				size := int64(0)
				for _, k := range c.columns {
					size += csv[k]
				}
				b.SetBytes(size)
				for b.Loop() {
					for _, err := range table.Batches(context.Background(), c.columns, matrix.Range{Hi: 1 << 40}) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
		table.Close()
	}
}
