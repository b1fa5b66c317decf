package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// namedFlag is a flag in the text of an error.
var namedFlag = regexp.MustCompile(`--([a-z0-9-]+)`)

// placed is an error of the settings with the place in a file of the one that it is about.
func (j *job) placed(err error) error { return placedIn(err, j.places, j.command.Flags()) }

// placedIn is an error of the command line with where the setting is said that it is about, if that is in places: the first flag that it
// names, if it begins with flags, or else one whose value it quotes.
func placedIn(err error, places map[string]string, flags *pflag.FlagSet) error {
	if bad := (usageError{}); !errors.As(err, &bad) || len(places) == 0 {
		return err
	}
	text := err.Error()
	if strings.HasPrefix(text, "--") {
		for _, name := range namedFlag.FindAllStringSubmatch(text, -1) {
			if at, ok := places[name[1]]; ok {
				return fmt.Errorf("%s: %w", at, err)
			}
		}
		return err
	}
	for _, flag := range slices.Sorted(maps.Keys(places)) {
		if f := flags.Lookup(flag); f.Value.Type() == "string" && strings.Contains(text, strconv.Quote(f.Value.String())) {
			return fmt.Errorf("%s: %w", places[flag], err)
		}
	}
	return err
}
