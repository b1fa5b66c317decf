// Package variables gives the flags of a command line what the environment says. It is for all programs of the project.
package variables

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix is how the variables of flags begin.
const Prefix = "THOLE_"

// Of is the environment variable of a flag: of --server-log THOLE_SERVER_LOG.
func Of(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// has reports whether a variable gives the flag. Hidden flags are what one process tells another.
func has(f *pflag.Flag) bool { return !f.Hidden && f.Name != "help" && f.Name != "version" }

// Error is a variable whose value its flag does not take.
type Error struct {
	Flag  *pflag.Flag
	Value string
	Err   error // of the flag
}

// Error implements error.
func (e *Error) Error() string { return Of(e.Flag.Name) + ": " + e.Err.Error() }

// Unwrap gives the flag's error.
func (e *Error) Unwrap() error { return e.Err }

// Give gives the flags that were not given, and are none of those without, what their variables say, and answers with the variables, by the
// flags. An empty variable is none. Of a flag that may be given several times each line is a value. The error is an *Error.
func Give(flags *pflag.FlagSet, without ...string) (gave map[string]string, err error) {
	gave = map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		text := os.Getenv(Of(f.Name))
		if err != nil || text == "" || f.Changed || !has(f) || slices.Contains(without, f.Name) {
			return
		}
		gave[f.Name] = Of(f.Name)
		values := []string{text}
		if f.Value.Type() == "stringArray" {
			values = slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
		}
		for _, value := range values {
			if bad := flags.Set(f.Name, value); bad != nil {
				err = &Error{f, value, bad}
				return
			}
		}
	})
	return gave, err
}
