package angel

import (
	"regexp"
	"strconv"
	"testing"
)

// TestIntegers takes all short texts for an integer of the metadata: one is written as JSON has it, in quotes or not, and within
// bounds.
func TestIntegers(t *testing.T) {
	const lo, hi = -99, 10
	written := regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	texts := []string{""}
	for i := 0; len(texts[i]) < 4; i++ {
		for _, c := range "+-019.e" {
			texts = append(texts, texts[i]+string(c))
		}
	}
	for _, text := range texts {
		for _, quote := range []string{"", `"`} {
			s := &scanner{b: []byte(quote + text + quote + ",")}
			got := s.integer("it", lo, hi)
			v, err := strconv.ParseInt(text, 10, 64)
			if fine := err == nil && written.MatchString(text) && v >= lo && v <= hi; fine != (s.err == nil) || fine && got != v {
				t.Errorf("%s is %d, %v", s.b, got, s.err)
			}
		}
	}
}
