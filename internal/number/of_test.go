package number

import "testing"

func TestOf(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Of(0, "example"), "0 examples"}, {Of(1, "example"), "1 example"}, {Of(int64(2), "example"), "2 examples"},
		{Of(1, "matrix", "matrices"), "1 matrix"}, {Of(7, "matrix", "matrices"), "7 matrices"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
