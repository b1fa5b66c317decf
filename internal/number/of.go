package number

import "fmt"

// Of is so many things of a kind, as English counts them: 1 example, 2 examples. many is what several are called where an s at the end
// does not say it.
func Of[T int | int64](n T, one string, many ...string) string {
	switch {
	case n == 1:
	case len(many) > 0:
		one = many[0]
	default:
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}
