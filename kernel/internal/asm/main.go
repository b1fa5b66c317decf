// Command asm writes those files of package kernel whose assembly is regular enough for loops to write it: tiles of every
// height, with and without masks, for each width of vector. Run it by "go generate ./kernel"; a test holds the files to it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// files says who writes which file.
var files = []struct {
	name  string
	write func(t *text)
}{
	{"gemm_amd64.s", gemm},
}

func main() {
	dir := flag.String("dir", ".", "where the files go")
	flag.Parse()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(*dir, f.name), assemble(f.write), 0o666); err != nil {
			fmt.Fprintln(os.Stderr, "asm:", err)
			os.Exit(1)
		}
	}
}
