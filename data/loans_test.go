package data

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// Rows are what their numbers say, whatever was drawn before, labels agree with their probabilities, and later rows have new cities.
func TestLoans(t *testing.T) {
	m := Loans{Seed: 1}
	var all, one []byte
	for i := range int64(2000) {
		all = m.Append(all, i, ',')
	}
	one = m.Append(one, 1999, ',')
	if !bytes.HasSuffix(all, one) || bytes.Count(all, []byte("\n")) != 2000 {
		t.Errorf("row 1999 alone is %q", one)
	}
	if first, want := string(all[:bytes.IndexByte(all, '\n')]), "1,2024-03-22,,3706,retired,city 110,travel,phone,card|mortgage,1500,no"; first != want {
		t.Errorf("the first row is %q, want %q", first, want)
	}
	expected, defaulted := 0.0, 0.0
	for i := range int64(20000) {
		if expected += m.Truth(i); m.Defaulted(i) {
			defaulted++
		}
	}
	if math.Abs(expected-defaulted) > 4*math.Sqrt(expected) {
		t.Errorf("%v of 20000 loans defaulted, want about %v", defaulted, expected)
	}
	var late []byte
	for i := range int64(2000) {
		late = m.Append(late, i+1_000_000, ',')
	}
	if !strings.Contains(string(late), ",city 1500,") && !strings.Contains(string(late), ",city 18") || strings.Contains(string(all), ",city 200,") {
		t.Error("later rows have no new cities")
	}
}
