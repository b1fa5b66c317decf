package ssp

import (
	"fmt"
	"strings"
)

// agreed is the plan that both are: what one does not say the other decides. If they differ it tells the first difference.
func agreed(plan, other string) (both, differ string) {
	one, two := strings.Fields(plan), strings.Fields(other)
	for i := range max(len(one), len(two)) {
		if i >= len(one) || i >= len(two) {
			return "", "other settings"
		}
		name, value, _ := strings.Cut(one[i], "=")
		switch {
		case one[i] == two[i] || two[i] == name+"=":
		case value == "" && strings.HasPrefix(two[i], one[i]) && strings.HasSuffix(one[i], "="):
			one[i] = two[i]
		default:
			return "", fmt.Sprintf("%s, not %s", one[i], two[i])
		}
	}
	return strings.Join(one, " "), ""
}
