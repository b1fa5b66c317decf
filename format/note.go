package format

import "strings"

// warning begins a note that a user should know of before the values are used: something was guessed, repaired, doubted or
// left out.
const warning = "warning: "

// Warning is the note as a warning.
func Warning(note string) string { return warning + note }

// problem begins a warning that verify reports as a failure.
const problem = warning + "damaged: "

// Problem is the note as a warning about bytes that contradict the rest of the file, or that other programs refuse: verify fails with it.
func Problem(note string) string { return problem + note }

// Problems are those notes that Problem made, without what it put before them.
func Problems(notes []string) (problems []string) {
	for _, n := range notes {
		if text, ok := strings.CutPrefix(n, problem); ok {
			problems = append(problems, text)
		}
	}
	return problems
}

// Named is the note with the name of the matrix that it is about; a warning stays one.
func Named(matrix, note string) string {
	if text, ok := strings.CutPrefix(note, warning); ok {
		return warning + matrix + ": " + text
	}
	return matrix + ": " + note
}

// Warnings are those notes that are warnings, as they are.
func Warnings(notes []string) (warnings []string) {
	for _, n := range notes {
		if strings.HasPrefix(n, warning) {
			warnings = append(warnings, n)
		}
	}
	return warnings
}
