package data

import "testing"

// The first byte that is no UTF-8 is reported with its line, once for each file.
func TestInvalidByte(t *testing.T) {
	for text, want := range map[string]invalidByte{"": {}, "a,b\nK\u00f6ln,\ufffd\n": {}, "a\nK\xf6ln\n\xff\n": {2, 0xf6}, "\xe9": {1, 0xe9}} {
		if got := firstInvalid([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	var notes []string
	opt := Options{Format: "csv", Labels: AutoTrans, Note: func(_ string, line int64, text string) {
		if line == 3 {
			notes = append(notes, text)
		}
	}}
	if _, err := loadTable(opt, 16, "c,y\nabcdefgh,0\nK\xf6ln,1\nK\xf6ln,1\nabcdefgh,1\nK\xf6ln,0\n"); err != nil || len(notes) != 1 {
		t.Errorf("%q, %v, want one note", notes, err)
	}
}
