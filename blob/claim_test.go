package blob

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestClaim: one at a time has a tree; the others hear who it is, until it is released. What a process left that had it holds nobody up.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string]Claimer{"dir": NewDir(dir), "files": Files{}} {
		t.Run(name, func(t *testing.T) {
			tree := "out/ck"
			if name == "files" {
				tree = filepath.ToSlash(filepath.Join(dir, "other", "ck"))
			}
			release, err := b.Claim(t.Context(), tree, "job a")
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Claim(t.Context(), tree, "job b")
			if is, ok := errors.AsType[*Claimed](err); !ok || is.Who != "job a" {
				t.Errorf("%v, want that job a has it", err)
			}
			if other, err := b.Claim(t.Context(), tree+"2", "job b"); err != nil {
				t.Errorf("another tree: %v", err)
			} else {
				other()
			}
			release()
			file := filepath.Join(dir, "out", "_tmp.ck.claim")
			if name == "files" {
				file = filepath.Join(dir, "other", "_tmp.ck.claim")
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a claim that was released leaves its file: %v", err)
			}
			if err := os.WriteFile(file, []byte("a job that was killed, and said more than this one"), 0o666); err != nil {
				t.Fatal(err)
			}
			release, err = b.Claim(t.Context(), tree, "job c")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "job c" {
				t.Errorf("%q, %v", text, err)
			}
			release()
			again, err := b.Claim(t.Context(), tree, "")
			if err != nil {
				t.Fatal(err)
			}
			release() // once more, when it is another's
			_, err = b.Claim(t.Context(), tree, "job d")
			if is, ok := errors.AsType[*Claimed](err); !ok || is.Who != "somebody who has not said yet who it is" {
				t.Errorf("%v, want that somebody has it", err)
			}
			again()
		})
	}
	if _, err := NewDir(dir).Claim(t.Context(), "../x", ""); !errors.Is(err, ErrName) {
		t.Errorf("%v, want that the name is wrong", err)
	}
}
