package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"thole-coordinate": main}) }

// TestScript runs the scripts of testdata/script: each is a session at the command line.
func TestScript(t *testing.T) { testscript.Run(t, testscript.Params{Dir: "testdata/script"}) }
