package export_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"

	"thole.example/program"
	"thole.example/program/export"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGoldenPIR compares the PIR of the network that has most kinds of operators with a file that Paddle 3.3.1 has loaded
// and computed. After a change of it, load it in Paddle again.
func TestGoldenPIR(t *testing.T) {
	const golden = "testdata/pnn.json"
	for _, n := range networks() {
		if n.name != "pnn" {
			continue
		}
		s := &saved{}
		n.save(s)
		m, err := export.New(context.Background(), parse(t, n.layers), s, export.Options{Form: program.FormPIR})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Program.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes that are not those of %s:\n%s", len(got), golden, got)
		}
		return
	}
	t.Error("no network pnn")
}
