package count

import "testing"

func TestOdd(t *testing.T) {
	if n, err := Odd([]int{1, 2, 3}); n != 2 || err != nil {
		t.Error(n, err)
	}
	if _, err := Odd([]int{1, 1, 1, 1, 1}); err == nil {
		t.Error("five are not too many")
	}
}

func TestUntil(t *testing.T) {
	if n := Until(3); n != 3 {
		t.Error(n)
	}
}
