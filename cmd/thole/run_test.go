package main

import (
	"bytes"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/interp"
)

// TestInFiles gives outputs names of files, each another one, and reports those that change.
func TestInFiles(t *testing.T) {
	names := []string{"a", "save_infer_model/scale_0.tmp_6", "save_infer_model_scale_0.tmp_6", ".hidden", "/", `b\c`, "b/c"}
	var results []interp.Result
	for _, name := range names {
		results = append(results, interp.Result{Name: name})
	}
	var log bytes.Buffer
	seen := map[string]bool{}
	for i, r := range inFiles(&env{err: &log}, results) {
		if !format.PlainName(r.Name) || seen[r.Name] || format.PlainName(names[i]) && r.Name != names[i] {
			t.Errorf("%s is written as %s", names[i], r.Name)
		}
		seen[r.Name] = true
	}
	if !strings.Contains(log.String(), "output save_infer_model/scale_0.tmp_6 is written as output_save_infer_model_scale_0.tmp_6\n") ||
		strings.Count(log.String(), "\n") != 5 || results[1].Name != names[1] {
		t.Errorf("reported: %s", &log)
	}
}
