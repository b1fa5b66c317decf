package main

import (
	"bytes"
	"strings"
	"testing"

	"thole.example/server"
)

// TestStatusStorage: the table of matrices names the type in which values are kept beside the one that they have.
func TestStatusStorage(t *testing.T) {
	var out bytes.Buffer
	printJob(&out, &server.JobStatus{Tables: []server.MatrixStatus{
		{Name: "w", Type: "f32", Storage: "f16", Layout: "sparse"}, {Name: "b", Type: "f32", Layout: "dense"},
	}})
	for _, want := range []string{"w       f32 as f16  sparse", "b       f32         dense"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("status says\n%s\nwant %q", out.String(), want)
		}
	}
}
