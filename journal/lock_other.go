//go:build !unix

package journal

import "os"

// lockAlone locks nothing: on these systems it is the user's to open a log once.
func lockAlone(*os.File) error { return nil }
