package main

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
)

// fileEnding is the extension of a name, in lower case and with its dot; "" without one. What begins with a
// digit belongs to the name, as in lr-0.01.
func fileEnding(name string) string {
	ending := strings.ToLower(blob.Ext(strings.TrimRight(name, "/")))
	if len(ending) < 2 || strings.Trim(ending[1:2], "0123456789") == "" || ending == strings.ToLower(blob.Base(name)) {
		return ""
	}
	return ending
}

// wantEnding refuses a name whose ending is of no format that could be written there: a file whose content is not what its name says
// misleads every other program. otherwise says what else can be done. Without endings that are known a folder is written.
func wantEnding(name, otherwise string, known ...string) error {
	ending := fileEnding(name)
	if ending == "" || slices.Contains(known, ending) {
		return nil
	}
	if len(known) == 0 {
		return usageError{fmt.Errorf("%s: ending %s, want a name without one: a folder is written there%s", name, ending, otherwise)}
	}
	return usageError{fmt.Errorf("%s: unknown ending %s, want one of %s%s", name, ending, strings.Join(known, " "), otherwise)}
}

// lineEndings are the endings of files of examples that are written as lines. Files of libsvm lines are often called .txt.
var lineEndings = []string{".libsvm", ".svm", ".svmlight", ".txt", ".libffm", ".ffm", ".dummy"}
