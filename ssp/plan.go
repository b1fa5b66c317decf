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

// Agree reports whether two plans differ in nothing that both say.
func Agree(plan, other string) bool {
	_, differ := agreed(plan, other)
	return differ == ""
}

// alike tells why a task has other settings than the job, or the plan that both have.
func (j *Job[D, R]) alike(e *Join[R]) (plan string, err error) {
	plan, differ := agreed(j.plan, e.Plan)
	switch {
	case len(j.members) != e.Tasks || j.bound != e.Bound:
		return "", fmt.Errorf("job %q has %d tasks under %v, not %d under %v: %w (start all workers alike)",
			j.name, len(j.members), j.bound, e.Tasks, e.Bound, Refused)
	case differ != "":
		return "", fmt.Errorf("job %q is made with %s: %w (start all workers alike; a second job needs another name)",
			j.name, differ, Refused)
	}
	return plan, nil
}
