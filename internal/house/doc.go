// Package house tests the house: that packages import only what stands below them (plan.txt), that names, comments,
// sizes and formatting are as docs/STYLE.md says, that no file speaks of one machine, and that the tables of the README
// are those of the code (go test ./internal/house -update rewrites them). It holds no code but tests.
package house
