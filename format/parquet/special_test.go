package parquet

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

// TestSpecial reads columns whose values are numbers in another way than their physical type: decimals in whole numbers and in bytes,
// INT96, nothing but nulls.
func TestSpecial(t *testing.T) {
	types := []matrix.DType{matrix.F64, matrix.F64, matrix.F64, matrix.I32, matrix.I64}
	want := []string{"1.25", "1.234567890125e+11", "1.2345678901234567e+19", "12", "1709209801500000", "-0.01", "-0.5", "-0.001", "-3", "-1000000",
		"99999.99", "0.1", "1", "1", "0", "0", "1", "0.1", "4", "10413792000000000", "1", "7", "2.5", "5", "-11676096000000000"}
	m, got, err := load(stored(t, "decimals.parquet"), nil, nil)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(m.ColTypes, types) {
		t.Errorf("%v %q, %v", m.ColTypes, got, err)
	}
	if n := strings.Join(notes(t, stored(t, "decimals.parquet"), nil), "\n"); !strings.Contains(n, `column "d128": decimal(30, 3) as f64, rounded`) ||
		!strings.Contains(n, `column "when": INT96 as microseconds`) || !strings.Contains(n, `column "d32": decimal(7, 2) as f64`) {
		t.Errorf("notes %s", n)
	}
	nulls := stored(t, "decimals_nulls.parquet")
	if _, _, err := load(nulls, nil, nil); err == nil || !strings.Contains(err.Error(), "a null, want a number (the option nulls") {
		t.Errorf("nulls without the option: %v", err)
	}
	m, got, err = load(nulls, map[string]string{"nulls": "0"}, nil)
	for _, k := range []int{20, 16, 12, 13, 24} { // nulls of the second file
		want[k] = "0"
	}
	var withNone []string
	for row := range 5 {
		withNone = append(append(withNone, want[5*row:5*row+5]...), "0")
	}
	if err != nil || !slices.Equal(got, withNone) || m.ColType(5) != matrix.F64 {
		t.Errorf("nulls=0: %v %q, want %q, %v", m.ColTypes, got, withNone, err)
	}
	m, got, err = load(nulls, map[string]string{"nulls": "nan"}, &matrix.Rect{Rows: matrix.Range{Lo: 2, Hi: 3}, Cols: matrix.Range{Lo: 2, Hi: 6}})
	if err == nil || !strings.Contains(err.Error(), "which i64 cannot hold as nan") { // times stay what they are
		t.Errorf("nulls=nan: %q, %v", got, err)
	}
	m, got, err = load(nulls, map[string]string{"nulls": "nan"}, &matrix.Rect{Rows: matrix.Range{Lo: 2, Hi: 4}, Cols: matrix.Range{Lo: 0, Hi: 4}})
	if err != nil || !slices.Equal(got, []string{"99999.99", "0.1", "NaN", "NaN", "0", "NaN", "0.1", "4"}) || m.ColType(3) != matrix.F64 {
		t.Errorf("nulls=nan: %v %q, %v", m.ColTypes, got, err)
	}
}

// TestUnsignedDelta reads whole numbers without a sign that are stored as differences.
func TestUnsignedDelta(t *testing.T) {
	m, got, err := load(stored(t, "unsigned_delta.parquet"), nil, nil)
	want := []string{"0", "0", "0", "1", "1", "200", "4294967295", "18446744073709551615", "255", "7", "7", "3"}
	if err != nil || !slices.Equal(got, want) || !slices.Equal(m.ColTypes, []matrix.DType{matrix.U32, matrix.U64, matrix.U8}) {
		t.Errorf("%v %q, %v", m.ColTypes, got, err)
	}
}

// TestEncryptedColumn names what is wrong with a file whose footer is plain and whose columns are not.
func TestEncryptedColumn(t *testing.T) {
	if _, _, err := load(stored(t, "encrypted_column.parquet"), nil, nil); !errors.Is(err, format.ErrVersion) || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("%v, want that columns are encrypted", err)
	}
}

// TestExactCells reads decimals of more digits than a double tells apart as texts.
func TestExactCells(t *testing.T) {
	for file, nulls := range map[string]bool{"decimals.parquet": false, "decimals_nulls.parquet": true} {
		table := openTable(t, stored(t, file))
		want := map[string][]string{"d128": {`"12345678901234567890.123"`, `"-0.001"`, `"1.000"`, `"0.100"`, `"2.500"`}}
		if nulls {
			want["d128"][2] = "null"
		}
		for i, c := range table.Columns() {
			if want[c.Name] == nil {
				continue
			}
			cells, err := formattest.TableCells(table, []int{i}, matrix.Range{Hi: 5})
			if err != nil || c.Kind != format.Text || !slices.Equal(cells[0], want[c.Name]) {
				t.Errorf("%s: column %q of %s: %q, %v, want %q", file, c.Name, c.Type, cells, err, want[c.Name])
			}
		}
		table.Close()
	}
}
