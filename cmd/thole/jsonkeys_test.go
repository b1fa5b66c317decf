package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// jsonTag is the name of a field in JSON.
var jsonTag = regexp.MustCompile("`json:\"([^\",`]+)")

// lowerCamel reports whether a key has the one style of all JSON that commands print.
func lowerCamel(key string) bool {
	return key != "" && unicode.IsLower(rune(key[0])) && !strings.ContainsAny(key, "-_ ")
}

// TestJSONTags: what commands print as JSON has keys in lowerCamel.
func TestJSONTags(t *testing.T) {
	seen := 0
	for _, dir := range []string{
		".", "../../admin", "../../algo", "../../bench", "../../data", "../../edit", "../../feature", "../../launch/kubernetes",
		"../../report", "../../runlog", "../../train",
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range jsonTag.FindAllStringSubmatch(string(text), -1) {
				if seen++; m[1] != "-" && !lowerCamel(m[1]) {
					t.Errorf("%s: key %q, want lowerCamel", file, m[1])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d keys found, want those of all commands", seen)
	}
}

// keysOf returns the keys of a JSON value and of the objects in it. The keys of "settings" are names of flags and are left out.
func keysOf(v any) (keys []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if keys = append(keys, key); key != "settings" {
				keys = append(keys, keysOf(inner)...)
			}
		}
	case []any:
		for _, inner := range v {
			keys = append(keys, keysOf(inner)...)
		}
	}
	return keys
}

// TestJSONOutput runs commands with --json: standard output is one JSON value whose keys are lowerCamel.
func TestJSONOutput(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("THOLE_RUNS", "records")
	for name, text := range savedExamples() {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		var out, log strings.Builder
		if rc := Main(args, &env{in: strings.NewReader(""), out: &out, err: &log}); rc != 0 {
			t.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), rc, log.String())
		}
		return out.String()
	}
	for _, line := range []string{
		"train --algo lr --data examples.csv --epochs 2 --holdout 0.25 --model lr --json",
		"train --algo gbdt --data examples.csv --trees 3 --validate examples.csv --model trees --json",
		"train --algo lr --data examples.csv --epochs 1 --cv 3 --json",
		"predict --model lr --data examples.csv --json",
		"evaluate lr examples.csv --json",
		"evaluate trees examples.csv --importance --json",
		"data describe examples.csv --json",
		"data describe examples.libffm --json",
		"inspect lr --json",
		"inspect trees --json",
		"convert lr lr.npz --lossy --json",
		"diff lr lr --json",
		"formats --json",
		"algos --json",
		"runs --json",
		"runs show last --json",
		"version --json",
	} {
		var v any
		if text := run(strings.Fields(line)...); json.Unmarshal([]byte(text), &v) != nil {
			t.Errorf("%s: not a JSON value: %s", line, text)
			continue
		}
		for _, key := range keysOf(v) {
			if !lowerCamel(key) && !isName(key) {
				t.Errorf("%s: key %q, want lowerCamel", line, key)
			}
		}
	}
}

// isName reports whether a key is the name of something, such as a file or a setting, and no word of the output.
func isName(key string) bool {
	return strings.ContainsAny(key, "./@") || strings.HasPrefix(key, "input_") || strings.HasPrefix(key, "thole")
}
