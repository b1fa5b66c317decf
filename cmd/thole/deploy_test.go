package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestDeploy: the manifest that deploy/kubernetes gives kustomize is what its head says.
func TestDeploy(t *testing.T) {
	const file = "../../deploy/kubernetes/manifest.yaml"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(want), "#   thole ")
	command, _, found := strings.Cut(command, "\n")
	if !found {
		t.Fatalf("%s does not say how it was made", file)
	}
	var out, errs bytes.Buffer
	if code := Main(strings.Fields(command), &env{in: strings.NewReader(""), out: &out, err: &errs}); code != 0 || out.String() != string(want) {
		t.Errorf("thole %s (status %d) does not print what %s has; want it written again by that command\n%s", command, code, file, errs.String())
	}
}
