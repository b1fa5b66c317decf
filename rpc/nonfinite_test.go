package rpc_test

import (
	"strings"
	"testing"

	"thole.example/rpc"
)

// TestParseNonFinite: every choice is found by its name, no name is refuse, and any other name is told with the ones there are.
func TestParseNonFinite(t *testing.T) {
	for name, want := range map[string]rpc.NonFinite{
		"": rpc.RefuseNonFinite, "refuse": rpc.RefuseNonFinite, "skip": rpc.SkipNonFinite, "allow": rpc.AllowNonFinite,
	} {
		got, err := rpc.ParseNonFinite(name)
		if err != nil || got != want || name != "" && got.String() != name {
			t.Errorf("%q is %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := rpc.ParseNonFinite("Skip"); err == nil || !strings.Contains(err.Error(), `"Skip"`) || !strings.Contains(err.Error(), "refuse, skip or allow") {
		t.Errorf("error is %v", err)
	}
	if got := rpc.NonFinite(3).String(); got != "unknown" {
		t.Errorf("a choice that is none is called %q", got)
	}
}
