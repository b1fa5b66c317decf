package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
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

// TestPodsUnderstand: the command lines of pods are those of thole server and thole worker, whose flags take them.
func TestPodsUnderstand(t *testing.T) {
	var out, errs bytes.Buffer
	args := strings.Fields("launch --on kubernetes --dry-run --name a --image i --volume d=pvc:d:/d --data /d/a --model /d/m --checkpoint /d/ck --tasks 6 " +
		"--workers 3 --tls-secret tls --token-secret tokens --give-up 2m --no-checksum --note $(HOME)")
	if code := Main(args, &env{in: strings.NewReader(""), out: &out, err: &errs}); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	seen := map[string]bool{}
	for _, text := range strings.Split(out.String(), "---\n")[1:] {
		var doc struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Spec.Template.Spec.Containers {
			var words []string
			for _, word := range c.Args {
				words = append(words, strings.NewReplacer("$$", "$", "$(POD_IP)", "10.0.0.1", "$(SERVER_INDEX)", "1", "$(JOB_COMPLETION_INDEX)", "2",
					"$(POD_NAMESPACE)", "models", "$(SERVERS)", "1", "$(WORKERS)", "3").Replace(word))
			}
			command, rest, err := rootCommand(&env{in: strings.NewReader(""), out: &out, err: &errs}).Find(words)
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%q: %v", words, err)
				continue
			}
			seen[command.Name()] = true
			for name, want := range map[string]map[string]string{
				"server": {"role": "1", "tls-cert": "/etc/thole/tls/tls.crt", "tokens": "/etc/thole/tokens/tokens", "no-checksum": "true"},
				"worker": {"task": "2/3", "tls-name": "a.models.svc", "token-file": "/etc/thole/tokens/secret", "give-up": "2m0s", "note": "$(HOME)"},
			}[command.Name()] {
				if got := command.Flags().Lookup(name).Value.String(); got != want {
					t.Errorf("--%s of %s is %s, want %s", name, command.Name(), got, want)
				}
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("pods of %v, want server and worker", seen)
	}
}
