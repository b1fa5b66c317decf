package spill

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"thole.example/matrix"
)

// victimDir names the directory in which a process opens a store to be killed with it.
const victimDir = "SPILL_TEST_DIR"

// live is the process that is killed: it fills a store, says so, and goes on changing it.
func live(dir string) int {
	s, err := Open(Options{Dir: dir, Budget: 10000, Segment: 1 << 16})
	for i := 0; err == nil; i++ {
		key, b := row(i%100, 500, int64(i))
		err = s.Put(key, b)
		if i == 500 {
			fmt.Println("full")
		}
		if i > 100 && err == nil {
			err = s.View(key, func(matrix.Block) error { return nil })
		}
	}
	fmt.Println(err)
	return 1
}

// A process that is killed leaves no file; another store in the directory goes on.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	key := put(t, s, 0, 100, 1)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if said != "full\n" {
		t.Errorf("the process said %q (%v), want it full", said, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended well, want it killed")
	}
	wantRow(t, s, key, 100, 1)
	if runtime.GOOS == "windows" {
		open(t, Options{Dir: dir}) // removes what could not be removed while it was open
		s.Close()
	}
	wantNoFiles(t, dir)
}

// A name left by a process that died between making a file and removing its name goes with the next Open; files of
// others stay.
func TestLeftNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"thole-spill-123.seg", "thole-spill.txt", "model.seg"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, Options{Dir: dir})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 || files[0].Name() != "model.seg" || files[1].Name() != "thole-spill.txt" {
		t.Errorf("%v, %v; want the two foreign files", files, err)
	}
}
