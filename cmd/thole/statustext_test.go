package main

import (
	"bytes"
	"slices"
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

// TestStatusFates: what became of columns is told of matrices where something became of some.
func TestStatusFates(t *testing.T) {
	var out bytes.Buffer
	printJob(&out, &server.JobStatus{Tables: []server.MatrixStatus{
		{Name: "w", Type: "f32", Admitted: 5, Expired: 2, Evicted: 7}, {Name: "b", Type: "f32"},
	}})
	_, fates, found := strings.Cut(out.String(), "columns of")
	want := []string{"admitted", "waiting", "refused", "expired", "evicted", "w", "5", "0", "0", "2", "7"}
	if got := strings.Fields(fates); !found || !slices.Equal(got, want) {
		t.Errorf("status says\n%s\nwant %q after \"columns of\"", out.String(), want)
	}
}
