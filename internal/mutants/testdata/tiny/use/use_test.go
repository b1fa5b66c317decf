package use

import "testing"

func TestFirst(t *testing.T) {
	if !First(true, false) || First(false, false) || First(true, true) {
		t.Error("First is wrong")
	}
}
