package arrow

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// tableCells reads some rows of each column that can be read.
func tableCells(data []byte, rows matrix.Range) (cells [][]string, err error) {
	table, err := openTable(data, map[string]string{"open": "true"})
	if err != nil {
		return nil, err
	}
	defer table.Close()
	for i, c := range table.Columns() {
		if c.Kind == format.Unreadable {
			continue
		}
		one, e := formattest.TableCells(table, []int{i}, rows)
		cells = append(cells, one...)
		err = errors.Join(err, e)
	}
	return cells, err
}

func known(err error) bool {
	return errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrVersion) || errors.Is(err, format.ErrLimit)
}

// TestDamagedTables cuts files short and changes their bytes: nothing panics, and errors say that the file is damaged. Arrow has no
// checksums, so changed values are read as they are.
func TestDamagedTables(t *testing.T) {
	for _, f := range tableFiles {
		data, err := os.ReadFile("testdata/" + f.file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tableCells(data, matrix.Range{Hi: 100}); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data)-9; n += 1 + n/64 { // a stream may lack the mark at its end
			if _, err := tableCells(data[:n], matrix.Range{Hi: 100}); err != nil && !known(err) {
				t.Errorf("%s, cut at byte %d: %v", f.file, n, err)
			}
		}
		for i := 0; i < len(data); i += 1 + len(data)/1200 {
			broken := slices.Clone(data)
			broken[i] ^= 1 << (i % 8)
			if _, err := tableCells(broken, matrix.Range{Hi: 100}); err != nil && !known(err) {
				t.Errorf("%s, byte %d: %v", f.file, i, err)
			}
		}
	}
}

// change gives a file of pyarrow in which some bytes are others, where they first stand.
func change(t *testing.T, file, from, to string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), from) || len(from) != len(to) {
		t.Fatalf("no %q in %s", from, file)
	}
	return []byte(strings.Replace(string(data), from, to, 1))
}

// TestWrongTables are tables whose offsets, places and numbers lead nowhere.
func TestWrongTables(t *testing.T) {
	entries := "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00ab"
	for what, c := range map[string]struct{ file, from, to, want string }{
		"texts that run backwards": {"deltas.arrow", entries, "\x00\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00ab",
			"offset 1 of texts is 3, want 0 to 2"},
		"text that ends before": {"deltas.arrow", entries, "\x00\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00ab",
			"texts that end at byte -1"},
		"text beyond the buffer": {"deltas.arrow", entries, "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x7f\x00\x00\x00\x00ab",
			"texts in a buffer of 2 bytes, want"},
		"entry that is none": {"deltas.arrow", "\x00\x00\x03\x01", "\x00\x00\x04\x01", "number 4 of a dictionary of 4"},
		"entry below none":   {"deltas.arrow", "\x00\x00\x03\x01", "\x00\x00\xff\x01", "number -1 of a dictionary of 4"},
	} {
		_, err := tableCells(change(t, c.file, c.from, c.to), matrix.Range{Hi: 100})
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, format.ErrCorrupt) ||
			!strings.Contains(err.Error(), `column "`) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}

// TestTablesAreFrugal reads changed tables without more memory than their size asks for.
func TestTablesAreFrugal(t *testing.T) {
	data, err := os.ReadFile("testdata/table_zstd.arrow")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(data); i += 97 {
		broken := slices.Clone(data)
		broken[i] ^= 0x80
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = tableCells(broken, matrix.Range{Hi: 100}) // either is right
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("byte %d: %d bytes allocated", i, used)
		}
	}
}

// FuzzTable reads the columns of anything.
func FuzzTable(f *testing.F) {
	for _, file := range tableFiles {
		data, err := os.ReadFile("testdata/" + file.file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(endMark))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := tableCells(data, matrix.Range{Lo: 3, Hi: 100}); err != nil && !known(err) {
			t.Fatalf("%v: wraps no error of package format", err)
		}
	})
}
