package main

import (
	"maps"
	"testing"

	"github.com/spf13/pflag"
)

// TestPairs: two values of a name in one list are refused, and a later list replaces values of an earlier one.
func TestPairs(t *testing.T) {
	var got map[string]string
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	pairsVar(f, &got, "set", "")
	for _, text := range []string{"a=1,b=2", "a=3", "c=x,y", "d=4,d=4", `"e=5,6",f==`} {
		if err := f.Set("set", text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := map[string]string{"a": "3", "b": "2", "c": "x,y", "d": "4", "e": "5,6", "f": "="}
	if there, err := f.GetStringToString("set"); !maps.Equal(got, want) || err != nil || !maps.Equal(there, want) {
		t.Errorf("%v, %v, %v, want %v", got, there, err, want)
	}
	const twice = `invalid argument "a=1,b=2,a=4" for "--set" flag: a has the values "1" and "4", want one of them`
	if err := f.Set("set", "a=1,b=2,a=4"); err == nil || err.Error() != twice || got["a"] != "3" {
		t.Errorf("%v, %v, want %s", err, got, twice)
	}
}
