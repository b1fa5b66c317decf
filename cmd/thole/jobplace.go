package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// namedFlag is a flag in the text of an error.
var namedFlag = regexp.MustCompile(`--([a-z0-9-]+)`)

// placed is an error of the settings with the place in a file of the one that it is about: that of the first flag that it names, if it
// begins with flags, or else of a value that it quotes.
func (j *job) placed(err error) error {
	if bad := (usageError{}); !errors.As(err, &bad) || len(j.places) == 0 {
		return err
	}
	text := err.Error()
	if strings.HasPrefix(text, "--") {
		for _, name := range namedFlag.FindAllStringSubmatch(text, -1) {
			if at, ok := j.places[name[1]]; ok {
				return fmt.Errorf("%s: %w", at, err)
			}
		}
		return err
	}
	for _, flag := range slices.Sorted(maps.Keys(j.places)) {
		if f := j.command.Flags().Lookup(flag); f.Value.Type() == "string" && strings.Contains(text, strconv.Quote(f.Value.String())) {
			return fmt.Errorf("%s: %w", j.places[flag], err)
		}
	}
	return err
}
