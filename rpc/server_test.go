package rpc

import "testing"

// TestServerText: what a server calls itself comes back, and any other text is a name.
func TestServerText(t *testing.T) {
	for _, s := range []Server{{"ps-2", 2, "X"}, {"ps-2", -1, "X"}, {"", 0, "X"}, {"", -1, ""}, {"a", 1023, "X"}} {
		if got := ParseServer(s.Text()); got != s {
			t.Errorf("%q is %+v, want %+v", s.Text(), got, s)
		}
	}
	for _, text := range []string{"", "bench", "a b", "a b c", "a 1 b c", "a -1 b", "a +1 b", "a 99999999999 b", "a  b"} {
		if got, want := ParseServer(text), (Server{Name: text, Number: -1}); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}
