package data_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"thole.example/data"
	"thole.example/feature"
)

// surveyed writes a table to two files and describes them.
func surveyed(t *testing.T, rows int, row func(i int) string) []feature.Description {
	t.Helper()
	var paths []string
	for k := range 2 {
		var b bytes.Buffer
		b.WriteString("user,kind,both,at,price,label\n")
		for i := k * rows / 2; i < (k+1)*rows/2; i++ {
			b.WriteString(row(i))
		}
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprint(k, ".csv")))
		if err := os.WriteFile(paths[k], b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	labels := 0
	o := data.Options{Table: &data.Table{Spec: feature.Spec{Columns: map[string]feature.Column{"both": {Kind: feature.Multi}}}}}
	s, _, err := data.Survey(context.Background(), paths, nil, o, func(some []float32) { labels += len(some) })
	if err != nil {
		t.Fatal(err)
	}
	if labels != rows || s.Rows() != rows {
		t.Fatalf("%d labels, %d rows, want %d", labels, s.Rows(), rows)
	}
	return s.Describe(3)
}

// More levels than are counted are estimated, to the same number on any number of processors, and frequent ones are exact.
func TestSurvey(t *testing.T) {
	const rows = 400_000
	row := func(i int) string {
		user, price := fmt.Sprintf("u%d", i), ""
		if i%4 == 0 {
			user = "common"
		}
		if i%10 > 0 {
			price = fmt.Sprint(i % 10)
		}
		return fmt.Sprintf("%s,%s,%s,2026-01-02 03:04:%02d.%03d,%s,%d\n", user, []string{"a", "b", "", "c c", "a"}[i%5],
			[]string{"x|y|x", "y", ""}[i%3], i%60, 250+i%500, price, i%2)
	}
	var all [2][]feature.Description
	for k, n := range []int{1, 4} {
		before := runtime.GOMAXPROCS(n)
		all[k] = surveyed(t, rows, row)
		runtime.GOMAXPROCS(before)
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Fatalf("on one processor %+v, on four %+v", all[0], all[1])
	}
	d := all[0]
	if user := d[0]; !user.About || math.Abs(float64(user.Distinct)/(0.75*rows+1)-1) > 0.03 ||
		user.Levels[0] != (feature.LevelOfRows{Level: "common", Rows: rows / 4}) {
		t.Errorf("%+v", user)
	}
	kinds := map[string]int{}
	for i := range rows {
		kinds[strings.Split(row(i), ",")[1]]++
	}
	if kind := d[1]; kind.About || kind.Distinct != 3 || kind.Missing != kinds[""] || kind.Levels[0].Rows != kinds["a"] {
		t.Errorf("%+v, want %v", kind, kinds)
	}
	x, y := rows/3+1, 2*(rows/3)+1 // a row counts once for a level that it has twice
	if both := d[2]; both.Distinct != 2 || both.Levels[0].Rows != y || both.Levels[1].Rows != x {
		t.Errorf("%+v, want %d y, %d x", both, y, x)
	}
	if at := d[3]; at.First != "2026-01-02 03:04:00.25" || at.Last != "2026-01-02 03:04:59.749" || at.Missing != 0 {
		t.Errorf("%+v", at)
	}
	if p := d[4]; p.Missing != rows/10 || p.Numbers.Mean != 5 || p.Numbers.Min != 1 || p.Numbers.Max != 9 {
		t.Errorf("%+v", p)
	}
}
