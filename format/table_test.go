package format

import (
	"errors"
	"testing"
	"time"
)

// named is a table of columns without rows.
type named struct {
	Table
	columns []TableColumn
}

func (n named) Columns() []TableColumn { return n.columns }

func TestPick(t *testing.T) {
	table := named{columns: []TableColumn{{Name: "label", Kind: Number}, {Name: "word", Kind: Text},
		{Name: "pair", Type: "struct", Why: "want text"},
		{Name: "twice", Kind: Text}, {Name: "twice", Kind: Text}}}
	picked, err := Pick(table, []string{"word", "label", "word"})
	if err != nil || len(picked) != 3 || picked[0] != 1 || picked[1] != 0 || picked[2] != 1 {
		t.Errorf("%v, %v", picked, err)
	}
	for name, want := range map[string]string{
		"wrod":  `column "wrod", want one of label word pair twice twice; did you mean word?`,
		"twice": `two columns with the name "twice", want one`,
		"pair":  `column "pair" of struct cannot be read: want text: unsupported version`,
	} {
		if _, err := Pick(table, []string{name}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := table.columns[2].Check(); !errors.Is(err, ErrVersion) {
		t.Errorf("%v, want one that wraps ErrVersion", err)
	}
}

func TestTableTimes(t *testing.T) {
	for _, c := range []struct {
		unit time.Duration
		v    int64
		want string
	}{
		{24 * time.Hour, -1, "1969-12-31T00:00:00Z"},
		{time.Second, 1 << 33, "2242-03-16T12:56:32Z"},
		{time.Millisecond, -1, "1969-12-31T23:59:59.999Z"},
		{time.Microsecond, -62135596800e6, "0001-01-01T00:00:00Z"},
		{time.Nanosecond, 1e18 + 1, "2001-09-09T01:46:40.000000001Z"},
		{0, 1, "1970-01-01T00:00:00.000000001Z"},
	} {
		if got := (&TableColumn{Kind: Time, Unit: c.unit}).Time(c.v).Format(time.RFC3339Nano); got != c.want {
			t.Errorf("%d of %v: %s, want %s", c.v, c.unit, got, c.want)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		v      int64
		digits int
		want   float64
	}{
		{12345, 2, 123.45}, {-1, 0, -1}, {1, 22, 1e-22}, {1, 30, 1e-30}, {7, -3, 7000}, {1<<62 + 1, 3, 4611686018427387.905},
		{-1 << 63, 18, -9.223372036854775808},
	} {
		if got := Decimal(c.v, c.digits); got != c.want {
			t.Errorf("%d with %d digits behind the point: %v, want %v", c.v, c.digits, got, c.want)
		}
	}
	for _, c := range []struct {
		bytes  string
		digits int
		want   float64
	}{
		{"", 1, 0}, {"\xff", 1, -0.1}, {"\x00\xff", 0, 255}, {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80", 2, -1.28},
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x00", 0, 1 << 64}, {"\xff\x00\x00\x00\x00\x00\x00\x00\x00", 0, -1 << 64},
		{"\x00\xff\xff\xff\xff\xff\xff\xff\xff", 0, 1<<64 - 1},
	} {
		if got, err := DecimalBytes([]byte(c.bytes), c.digits); err != nil || got != c.want {
			t.Errorf("% x with %d digits behind the point: %v, %v, want %v", c.bytes, c.digits, got, err, c.want)
		}
	}
	if _, err := DecimalBytes(make([]byte, 257), 0); err == nil {
		t.Error("a number of 257 bytes was read")
	}
	if v, err := WholeBytes([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe")); v != -2 || err != nil {
		t.Errorf("%d, %v, want -2", v, err)
	}
	if _, err := WholeBytes([]byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff")); err == nil {
		t.Error("a number of 65 bits was read")
	}
}
