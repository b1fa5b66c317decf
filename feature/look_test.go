package feature

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// kindOf is the kind that a column of the name and cells is taken for, and what is said of it.
func kindOf(t *testing.T, name string, cells []string) (Kind, string) {
	t.Helper()
	var rows [][]string
	for _, c := range cells {
		rows = append(rows, []string{c, "0"})
	}
	p, err := (&Spec{}).Open([]string{name, "y"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	return p.columns[0].Kind, strings.Join(p.Doubts(), "; ")
}

// Ids are categories where name and repetition say so, an index of pandas is ignored, and what may be no number or text is reported.
func TestLooks(t *testing.T) {
	var ids, unique, counts, ages, floats, days, moments, eights []string
	for i := range 100 {
		floats = append(floats, fmt.Sprintf("%d.0", 1000+i*7%40*13))
		days = append(days, time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC).Format("20060102"))
		moments = append(moments, time.Date(2020, 1, 1, i, 0, 0, 0, time.UTC).Format("20060102150405"))
		eights = append(eights, fmt.Sprint(20200101+i))
		ids = append(ids, fmt.Sprint(1000+i*7%40*13))
		unique = append(unique, fmt.Sprint(1000+i*37%80*13))
		counts = append(counts, fmt.Sprint(i))
		ages = append(ages, fmt.Sprint(20+i%50))
	}
	for _, c := range []struct {
		name  string
		cells []string
		kind  Kind
		says  string
	}{
		{"user_id", ids, Categorical, "--numeric user_id"}, {"itemId", ids, Categorical, "--numeric itemId"}, {"ID", ids, Categorical, "40 different ones"},
		{"user_id", floats, Categorical, "40 different ones"}, {"d", days, Numeric, "--date-format d=%Y%m%d reads"}, {"d", days[:5], Numeric, ""},
		{"d", moments, Numeric, "--date-format d=%Y%m%d%H%M%S reads"}, {"d", eights, Numeric, ""},
		{"item-id", unique, Numeric, "--categorical item-id"}, {"paid", ids, Numeric, ""}, {"grid", ids, Numeric, ""}, {"age", ages, Numeric, ""},
		{"year", ages, Numeric, ""}, {"id", counts, Numeric, ""}, {"user_id", []string{"0.5", "1.5", "2.5"}, Numeric, ""},
		{"user_id", []string{"1", "2", "1", "2"}, Numeric, ""},
		{"__index_level_0__", []string{"b", "a"}, Ignore, "--categorical __index_level_0__"}, {"Unnamed: 0", counts, Ignore, "ignored"},
		{"index", counts, Ignore, "ignored"}, {"Unnamed: 0", ids, Numeric, ""}, {"index", ages[:50], Ignore, "ignored"}, {"index", ids, Numeric, ""},
		{"zip", []string{"01234", "90210"}, Numeric, "--categorical zip"}, {"n", []string{"0", "10"}, Numeric, ""},
		{"p", []string{"45%", "5 %"}, Categorical, "numbers with units"}, {"p", []string{"$12", "$1,200.50"}, Categorical, "numbers with units"},
		{"p", []string{"12kg", "7"}, Categorical, "numbers with units"}, {"p", []string{"1_000", "20_000"}, Categorical, "underscores"},
		{"p", []string{"0x1F", "0x00"}, Categorical, "hexadecimal"}, {"p", []string{"12A", "7B"}, Categorical, ""}, {"p", []string{"a", "45%"}, Categorical, ""},
	} {
		kind, says := kindOf(t, c.name, c.cells)
		if kind != c.kind || !strings.Contains(says, c.says) || c.says == "" && says != "" {
			t.Errorf("%s of %q...: %s, %q, want %s, %q", c.name, c.cells[0], kind, says, c.kind, c.says)
		}
	}
}
