package main

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// pairs is the value of a flag of NAME=VALUE pairs that refuses two values of a name in one list. A later list may replace values of an
// earlier one.
type pairs struct{ pflag.Value }

// pairsVar defines a flag of NAME=VALUE pairs, separated by commas.
func pairsVar(f *pflag.FlagSet, to *map[string]string, name, usage string) {
	f.StringToStringVar(to, name, nil, usage)
	flag := f.Lookup(name)
	flag.Value = &pairs{flag.Value}
}

// Set implements pflag.Value.
func (p *pairs) Set(text string) error {
	if strings.Count(text, "=") > 1 { // else it is one pair, whose value may have commas
		all, err := csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			return err
		}
		before := map[string]string{}
		for _, pair := range all {
			name, value, _ := strings.Cut(pair, "=")
			if other, there := before[name]; there && other != value {
				return fmt.Errorf("%s has the values %q and %q, want one of them", name, other, value)
			}
			before[name] = value
		}
	}
	return p.Value.Set(text)
}
