package state

import (
	"testing"

	"thole.example/format"
)

// TestLooseLimit: a checkpoint reads every file that a model may have next to its matrices, columns.json of many categories among them.
func TestLooseLimit(t *testing.T) {
	for _, name := range []string{"columns.json", "graph.json", "trees.json", "job.yaml"} {
		if most := format.FileLimit(name); looseLimit < most {
			t.Errorf("%s has up to %d bytes in a model, and %d in a checkpoint", name, most, int64(looseLimit))
		}
	}
}
