package csv

import (
	"strings"
	"testing"

	"thole.example/format"
)

// TestRounded warns of whole numbers that f64 does not hold, wherever they stand in the first lines.
func TestRounded(t *testing.T) {
	for text, warns := range map[string]bool{
		"9007199254740993,0.5\n": true, "0.5,9007199254740993\n": true, "0.5,-9007199254740993\n": true, "1\n9007199254740993\n0.5\n": true,
		"18446744073709551616,1\n": true, "9007199254740993,1\n": false, "9007199254740992,0.5\n": false, "id,v\n9007199254740993,0.5\n": false,
		"id,v\n9007199254740993,1\n2,0.5\n": false,
	} {
		b := bucketOf(t, files(text, ""))
		r, err := Codec.Open(t.Context(), b, "d/a.csv", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := format.Warnings(r.Notes())
		if (len(w) == 1 && strings.Contains(w[0], "rounded to f64")) != warns || len(w) > 1 {
			t.Errorf("%q: warnings %q, want one: %v", text, w, warns)
		}
		r.Close()
	}
}
