//go:build unix

package blob

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain is also the process that TestSweepAfterKill kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BLOB_HOLD"); dir != "" {
		held, err := hold(dir)
		fmt.Println(err)
		io.Copy(io.Discard, os.Stdin) // until the test kills this process, or ends itself
		runtime.KeepAlive(held)
	}
	os.Exit(m.Run())
}

// hold takes hold of a stage, and begins to write an object: they are held while what it returns is reachable.
func hold(dir string) (held []any, err error) {
	ctx, b := context.Background(), NewDir(dir)
	stage, err := b.Hold(ctx, "_tmp.m.stage")
	if err != nil {
		return nil, err
	}
	if err := WriteAll(ctx, b, "_tmp.m.stage/piece", []byte("piece")); err != nil {
		return nil, err
	}
	w, err := b.Create(ctx, "m")
	if err != nil {
		return nil, err
	}
	_, err = w.Write([]byte("half"))
	return []any{stage, w}, err
}

// TestSweepAfterKill leaves what a living process writes, and finds and removes it once the process was killed.
func TestSweepAfterKill(t *testing.T) {
	dir := t.TempDir()
	b := NewDir(dir)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BLOB_HOLD="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if left, err := b.Sweep(t.Context(), "m"); len(left) != 0 || err != nil {
		t.Errorf("%v of a living process swept, %v", left, err)
	}
	if files, _ := filepath.Glob(dir + "/_tmp.m.*"); len(files) != 2 {
		t.Errorf("%v, want the stage and the file", files)
	}
	cmd.Process.Kill()
	cmd.Wait()
	put(t, b, "_tmp.other.stage/piece")
	left, err := b.Leftovers(t.Context(), "m")
	if len(left) != 2 || !slices.Contains(left, "_tmp.m.stage") || err != nil {
		t.Errorf("leftovers %v, %v", left, err)
	}
	if swept, err := b.Sweep(t.Context(), "m"); !slices.Equal(swept, left) || err != nil {
		t.Errorf("swept %v, %v, want %v", swept, err, left)
	}
	if files, _ := filepath.Glob(dir + "/_tmp.*"); len(files) != 1 || filepath.Base(files[0]) != "_tmp.other.stage" {
		t.Errorf("%v, want what is another's", files)
	}
}

// TestSweepOfHeld holds a stage from several sides: it is swept only when the last has let it go.
func TestSweepOfHeld(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, b := range map[string]interface {
		Bucket
		Sweeper
	}{"at/m": NewDir(dir), "at/../at/k": Files{}} {
		tree := filepath.ToSlash(filepath.Dir(name)) + "/_tmp." + filepath.Base(name) + ".x"
		one, err := b.Hold(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		two, err := b.Hold(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		one()
		if left, err := b.Sweep(t.Context(), name); len(left) != 0 || err != nil {
			t.Errorf("%v, %v, want it held still", left, err)
		}
		two()
		if left, err := b.Sweep(t.Context(), name); len(left) != 1 || err != nil {
			t.Errorf("%v, %v, want %s", left, err, tree)
		}
	}
}

// TestHoldWhileSwept has several servers begin a save of one path at once: each sweeps what others may have just made.
func TestHoldWhileSwept(t *testing.T) {
	b := NewDir(t.TempDir())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for round := range 1000 {
				tree := fmt.Sprintf("at/_tmp.m.%d", round/8)
				if _, err := b.Sweep(t.Context(), "at/m"); err != nil {
					t.Error(err)
					return
				}
				release, err := b.Hold(t.Context(), tree)
				if err != nil {
					t.Error(err)
					return
				}
				if err := WriteAll(t.Context(), b, tree+"/m/x", nil); err != nil {
					t.Error(err)
					return
				}
				release()
			}
		})
	}
	all.Wait()
}

// TestHoldRefused: what is in the way of a tree is named, however often one tries.
func TestHoldRefused(t *testing.T) {
	root := t.TempDir()
	b := NewDir(root)
	if err := os.Symlink("nowhere", filepath.Join(root, "link")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "file"} {
		for _, tree := range []string{name, name + "/_tmp.m.1", name + "/at/_tmp.m.1"} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := b.Hold(ctx, tree)
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want that %s is in the way", tree, err, name)
			}
			cancel()
		}
	}
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", filepath.Join(root, "_tmp.m.1")); err != nil {
		t.Fatal(err)
	}
	for _, tree := range []string{"_tmp.m.1", "_tmp.m.1/_tmp.m.1"} { // a link to a folder is as good as one
		release, err := b.Hold(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}
