package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	pf "github.com/parquet-go/parquet-go/format"

	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

func deltaOf(t fataler, v []int32) []byte {
	t.Helper()
	b, err := (&delta.BinaryPackedEncoding{}).EncodeInt32(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// textFile is a file of one column of bytes, of some pages in which a few values are claimed.
func textFile(t fataler, rows int64, change func(*pf.FileMetaData), pages ...[]byte) []byte {
	t.Helper()
	all := slices.Concat(pages...)
	foot := oneColumn(pf.ByteArray, rows, len(all), 0)
	if change != nil {
		change(foot)
	}
	return withFooter(t, all, foot)
}

// TestHostileTables are tables that claim much more than they hold, or what cannot be. None of them makes the reader allocate much.
func TestHostileTables(t *testing.T) {
	page := func(n int, e pf.Encoding, body ...byte) []byte {
		return pageOf(t, dataPage(n, len(body), len(body), e), body)
	}
	words := pageOf(t, pf.PageHeader{Type: pf.DictionaryPage, UncompressedPageSize: 6, CompressedPageSize: 6,
		DictionaryPageHeader: thrift.New(pf.DictionaryPageHeader{NumValues: 1})}, []byte("\x02\x00\x00\x00ab"))
	repeated := func(f *pf.FileMetaData) {
		f.Schema[1].RepetitionType = thrift.New(pf.Repeated)
		f.RowGroups[0].Columns[0].MetaData.NumValues = 1 << 40
	}
	decimals := func(f *pf.FileMetaData) {
		f.Schema[1].LogicalType.Value = &pf.DecimalType{Scale: 2, Precision: 9}
	}
	prefixes, rests := make([]int32, 5000), make([]int32, 5000)
	for i := range prefixes {
		prefixes[i] = 1 << 16
	}
	prefixes[0], rests[0] = 0, 1<<16
	long := slices.Concat(deltaOf(t, prefixes), deltaOf(t, rests), make([]byte, 1<<16))
	runs := func(v byte) []byte { return []byte{5, 0, 0, 0, 0x80, 0x80, 0x80, 0x10, v} } // 2^24 times
	file := func(rows int64, pages ...[]byte) []byte { return textFile(t, rows, nil, pages...) }
	negative := page(1, pf.DeltaLengthByteArray, deltaOf(t, []int32{-1})...)
	beyond := page(1, pf.DeltaLengthByteArray, deltaOf(t, []int32{9})...)
	begun := page(1, pf.DeltaByteArray, append(deltaOf(t, []int32{3}), deltaOf(t, []int32{0})...)...)
	digits := page(1, pf.Plain, append([]byte{0, 4, 0, 0}, make([]byte, 1024)...)...)
	for what, c := range map[string]struct {
		data []byte
		want string
		is   error
	}{
		"long text":           {file(1, page(1, pf.Plain, 0xff, 0xff, 0xff, 0x7f)), "a text without its end", format.ErrCorrupt},
		"many texts":          {file(1<<24, page(1<<24, pf.Plain, 0, 0, 0, 0)), "16777216 texts in 4 bytes", format.ErrCorrupt},
		"bytes behind":        {file(1, page(1, pf.Plain, 0, 0, 0, 0, 7)), "1 bytes behind the last text", format.ErrCorrupt},
		"no dictionary":       {file(1, page(1, pf.RLEDictionary, 1, 2, 0)), "needs a dictionary", format.ErrCorrupt},
		"beyond dictionary":   {file(1, words, page(1, pf.RLEDictionary, 8, 2, 9)), "number 9 of a dictionary of 1", format.ErrCorrupt},
		"numbers as texts":    {file(1, page(1, pf.DeltaBinaryPacked, 0)), "texts in DELTA_BINARY_PACKED", format.ErrVersion},
		"fewer pages":         {file(3, page(1, pf.Plain, 0, 0, 0, 0)), "1 values in the pages, want 3", format.ErrCorrupt},
		"negative length":     {file(1, negative), "a text of -1 bytes", format.ErrCorrupt},
		"lengths beyond":      {file(1, beyond), "texts of 9 bytes in 0", format.ErrCorrupt},
		"begins as the first": {file(1, begun), "of 0", format.ErrCorrupt},
		"prefix bomb":         {file(5000, page(5000, pf.DeltaByteArray, long...)), "texts of more than 268435456 bytes", format.ErrLimit},
		"long decimal":        {textFile(t, 1, decimals, digits), "a decimal number of 1024 bytes", format.ErrCorrupt},
		"list without row": {textFile(t, 1, repeated, page(1, pf.Plain, 2, 0, 0, 0, 2, 1, 2, 0, 0, 0, 2, 1, 0, 0, 0, 0)),
			"a list that goes on before its row", format.ErrCorrupt},
		"rows behind": {textFile(t, 1, func(f *pf.FileMetaData) {
			repeated(f)
			f.RowGroups[0].Columns[0].MetaData.NumValues = 2
		}, page(2, pf.Plain, 2, 0, 0, 0, 4, 0, 2, 0, 0, 0, 4, 0)), "more rows than the row group has", format.ErrCorrupt},
		"one long list": {textFile(t, 1, repeated, page(1, pf.Plain, 2, 0, 0, 0, 2, 0, 2, 0, 0, 0, 2, 0),
			page(1<<24, pf.Plain, append(runs(1), runs(1)...)...)), "16777216 texts in 0 bytes", format.ErrCorrupt},
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := tableCells(c.data)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) || !strings.Contains(err.Error(), `column "x"`) {
				t.Errorf("%v, want %q", err, c.want)
			}
			// The levels of a page of 2^24 values are what is allocated before its texts are missed.
			if used := after.TotalAlloc - before.TotalAlloc; used > 160<<20 {
				t.Errorf("%d bytes allocated", used)
			}
		})
	}
}

// TestOldTables are columns of bytes of which nothing is said, and times of Julian days at the ends of what microseconds hold.
func TestOldTables(t *testing.T) {
	data := textFile(t, 1, nil, pageOf(t, dataPage(1, 6, 6, pf.Plain), []byte("\x02\x00\x00\x00ab")))
	if cells, err := tableCells(data); err != nil || cells[0][0] != `"ab"` {
		t.Errorf("%q, %v", cells, err)
	}
	const beyond = "a time of 1500 ns"
	for day, want := range map[int64]string{epochDay: "", epochDay - 1: "", epochDay + maxDays + 1: beyond, -1 << 31: beyond} {
		b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 1500), uint32(day))
		v, err := moment(b)
		switch {
		case want == "" && (err != nil || int64(v) != (day-epochDay)*86400e6+1):
			t.Errorf("day %d: %d, %v", day, int64(v), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("day %d: %v, want %q", day, err, want)
		}
	}
}

// FuzzTable reads the columns of anything.
func FuzzTable(f *testing.F) {
	for _, file := range tableFiles {
		data, err := os.ReadFile("testdata/" + file + ".parquet")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(bytes.Repeat([]byte(magic), 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := bucketOf(t, data)
		table, err := format.OpenTable(context.Background(), Codec, b, "a.parquet", format.Options{})
		if err != nil {
			return
		}
		defer table.Close()
		for _, i := range readableColumns(table) {
			_, err := formattest.TableCells(table, []int{i}, matrix.Range{Lo: 5, Hi: 100})
			if err != nil && !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrVersion) && !errors.Is(err, format.ErrLimit) {
				t.Fatalf("%v: wraps no error of package format", err)
			}
		}
	})
}
