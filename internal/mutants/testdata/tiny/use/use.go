// Package use uses count.
package use

import "tiny/count"

// First is a without b.
func First(a, b bool) bool { return count.Both(a, b) }
