package format

import "strings"

// warning begins a note that a user should know of before the values are used: something was guessed, repaired, doubted or
// left out.
const warning = "warning: "

// Warning is the note as a warning.
func Warning(note string) string { return warning + note }

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
