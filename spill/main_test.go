package spill

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The same program is the process that is killed in the test of a crash.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(live(dir))
	}
	goleak.VerifyTestMain(m)
}
