package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the binary knows of how it was made.
type build struct {
	Version  string `json:"version"`            // of the module
	Commit   string `json:"commit,omitempty"`   // that it was built from
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // since the commit
	Go       string `json:"go"`
	System   string `json:"system"`
}

func readBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// develVersion is what Go calls the version of a module that was built in its own folder.
const develVersion = "(devel)"

func (b build) text() string {
	var text string
	switch {
	case b.Version != develVersion && b.Commit != "":
		text = fmt.Sprintf("thole %s, commit %s", b.Version, b.Commit)
	case b.Version != develVersion:
		text = "thole " + b.Version
	case b.Commit != "":
		text = "thole of commit " + b.Commit
	default:
		text = "thole of an unknown commit (built without -buildvcs)"
	}
	if b.Modified {
		text += " with changes"
	}
	return fmt.Sprintf("%s, %s, %s", text, b.Go, b.System)
}

func versionCommand(e *env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  thole version\n  thole version --json",
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if asJSON {
				return json.NewEncoder(e.out).Encode(b)
			}
			_, err := fmt.Fprintln(e.out, b.text())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
