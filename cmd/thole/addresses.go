package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"thole.example/internal/addresses"
)

// addressesHelp says how servers may be named.
const addressesHelp = "addresses, patterns like ps-{0..2}.ps:7001, @FILE with a line each, or dns+srv://_thole._tcp.ps?count=3"

// serverAddresses are the addresses that a flag or an argument names, which is called what. DNS has so long to know of all of them; 0: as
// long as it takes. It is said what is waited for.
func (e *env) serverAddresses(ctx context.Context, what string, words []string, within time.Duration) ([]string, error) {
	if within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	s := addresses.Source{Waiting: func(text string) { e.says("%s", text) }}
	all, err := s.Expand(ctx, words)
	switch {
	case errors.Is(err, addresses.ErrWord):
		err = usageError{fmt.Errorf("%s: %w", what, err)}
	case err != nil:
		err = fmt.Errorf("%s: %w", what, err)
	}
	return all, err
}

// says tells people something in a line.
func (e *env) says(format string, args ...any) {
	fmt.Fprintln(e.err, escaped(fmt.Sprintf(format, args...)))
}
