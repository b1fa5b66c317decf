package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"thole.example/blob"
)

func commitMakesVisible(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		w, err := b.Create(t.Context(), "a/b/c")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, "one ")
		wantMissing(t, b, "a/b/c", "a/b", "a")
		wantList(t, b, "", "")
		fmt.Fprint(w, "two")
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		wantContent(t, b, "a/b/c", "one two")
		wantList(t, b, "", "a/b/c")
		wantMissing(t, b, "a/b", "a", "a/b/c/d")

		w.Abort() // deferred after Commit: does nothing
		if err := w.Commit(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("second commit: %v, want one that wraps fs.ErrClosed", err)
		}
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("write after commit: no error")
		}
		if _, err := w.WriteAt([]byte("x"), 0); err == nil {
			t.Error("write at a place after commit: no error")
		}
		wantContent(t, b, "a/b/c", "one two")
	})
}

func abortLeavesNothing(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "a/old")
		for _, name := range []string{"a/new", "a/old"} {
			w, err := b.Create(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, "never seen")
			w.Abort()
			w.Abort()
			if err := w.Commit(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("commit after abort: %v", err)
			}
		}
		wantList(t, b, "", "a/old")
		wantContent(t, b, "a/old", "in a/old")
	})
}

// errorsNameTheObject checks that what is done to a writer after its end fails, and that errors name what was to be written,
// not what it is called meanwhile.
func errorsNameTheObject(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		for kind, create := range map[string]func(name string) (blob.Writer, error){
			"any":  func(name string) (blob.Writer, error) { return b.Create(t.Context(), name) },
			"over": func(name string) (blob.Writer, error) { return blob.CreateOver(t.Context(), b, name, blob.Anything) },
		} {
			for _, committed := range []bool{false, true} {
				w, err := create("a/b")
				if err != nil {
					t.Fatal(err)
				}
				if committed {
					if err := w.Commit(); err != nil {
						t.Fatal(err)
					}
				}
				w.Abort()
				for what, err := range map[string]error{
					"write":          second(w.Write([]byte("x"))),
					"write at":       second(w.WriteAt([]byte("x"), 1)),
					"read":           second(w.ReadAt(make([]byte, 1), 0)),
					"commit":         w.Commit(),
					"another commit": w.Commit(),
				} {
					if !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), "a/b: ") || strings.Contains(err.Error(), "_tmp.") {
						t.Errorf("%s, committed: %t: %s: %v, want fs.ErrClosed of a/b", kind, committed, what, err)
					}
				}
			}
			long := strings.Repeat("n", 300) // longer than names of files are
			if _, err := create("a/" + long); err != nil && (!strings.Contains(err.Error(), "a/"+long+": ") || strings.Contains(err.Error(), "_tmp.")) {
				t.Errorf("%s: create: %v, want one that names the object", kind, err)
			}
			put(t, b, "file")
			w, err := create("file/x")
			if err == nil {
				err = w.Commit()
			}
			if err == nil || !strings.Contains(err.Error(), "file: ") && !strings.Contains(err.Error(), "file is an object") {
				t.Errorf("%s: below an object: %v, want one that names it", kind, err)
			}
		}
	})
}

func replaceKeepsOpenObjects(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "x")
		o, err := b.Open(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		if err := blob.WriteAll(t.Context(), b, "x", []byte("newer and longer")); err != nil {
			t.Fatal(err)
		}
		old := make([]byte, 10)
		if n, err := o.ReadAt(old, 0); k.Replaces && errors.Is(err, blob.ErrChanged) {
			t.Log("as the bucket says:", err)
		} else if n != 4 || err != io.EOF || o.Size() != 4 || string(old[:n]) != "in x" {
			t.Errorf("the open object is %q, %v, size %d", old[:n], err, o.Size())
		}
		wantContent(t, b, "x", "newer and longer")
	})
}

func writeAt(t *testing.T, k Kind) {
	for _, c := range []struct {
		name string
		do   func(w blob.Writer)
		want string
	}{
		{"nothing", func(w blob.Writer) {}, ""},
		{"gap", func(w blob.Writer) { w.WriteAt([]byte("end"), 3) }, "\x00\x00\x00end"},
		{"backwards", func(w blob.Writer) {
			w.WriteAt([]byte("cd"), 2)
			w.WriteAt([]byte("ab"), 0)
		}, "abcd"},
		{"overlap", func(w blob.Writer) {
			w.WriteAt([]byte("aaaa"), 0)
			w.WriteAt([]byte("b"), 1)
		}, "abaa"},
		{"write begins at 0", func(w blob.Writer) {
			w.WriteAt([]byte("........"), 0)
			w.Write([]byte("ab"))
			w.Write([]byte("cd"))
		}, "abcd...."},
		{"write goes on behind write", func(w blob.Writer) {
			w.Write([]byte("ab"))
			w.WriteAt([]byte("z"), 5)
			w.Write([]byte("cd"))
		}, "abcd\x00z"},
		{"empty far away", func(w blob.Writer) {
			w.Write([]byte("a"))
			w.WriteAt(nil, 0)
		}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k.on(t, func(t *testing.T, b blob.Bucket) {
				w, err := b.Create(t.Context(), "x")
				if err != nil {
					t.Fatal(err)
				}
				c.do(w)
				if err := w.Commit(); err != nil {
					t.Fatal(err)
				}
				wantContent(t, b, "x", c.want)
			})
		})
	}
	k.on(t, func(t *testing.T, b blob.Bucket) {
		w, _ := b.Create(t.Context(), "x")
		defer w.Abort()
		for _, off := range []int64{-1, 1<<63 - 1} {
			if _, err := w.WriteAt([]byte("ab"), off); err == nil {
				t.Errorf("write at %d: no error", off)
			}
		}
	})
}

func namesOutsideAreRefused(t *testing.T, k Kind) {
	ctx := context.Background()
	for _, name := range []string{"", ".", "..", "../x", "a/../../x", "a/../b", "/x", "/", "a//b", "a/", "./a", "a/.", "a\x00b"} {
		k.on(t, func(t *testing.T, b blob.Bucket) {
			put(t, b, "there")
			_, open := b.Open(ctx, name)
			_, create := b.Create(ctx, name)
			for what, err := range map[string]error{
				"open": open, "create": create, "remove": b.Remove(ctx, name),
				"publish to": b.Publish(ctx, "there", name, blob.Anything), "publish": b.Publish(ctx, name, "elsewhere", blob.Anything),
			} {
				if !errors.Is(err, blob.ErrName) {
					t.Errorf("%s %q: %v, want ErrName", what, name, err)
				}
			}
			if _, err := b.List(ctx, name); !errors.Is(err, blob.ErrName) && name != "" && name != "." {
				t.Errorf("list %q: %v, want ErrName", name, err)
			}
			wantContent(t, b, "there", "in there")
		})
	}
}

// backslash: a name may have one, where the file system does not take it for a slash.
func backslash(t *testing.T, k Kind) {
	if filepath.Separator == '\\' {
		t.Skip("a backslash is a slash here")
	}
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, `d\e/a\b`, `..\x`)
		wantList(t, b, `d\e`, `d\e/a\b`)
		wantContent(t, b, `d\e/a\b`, `in d\e/a\b`)
		if err := b.Publish(t.Context(), `d\e`, `f\g`, blob.Anything); err != nil {
			t.Fatal(err)
		}
		wantList(t, b, "", `..\x f\g/a\b`)
	})
}

func listing(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "m/b", "m/a/1", "m/a/0", "m-not", "mm/x", "m.x", "z")
		for tree, want := range map[string]string{
			"":      "m-not m.x m/a/0 m/a/1 m/b mm/x z",
			".":     "m-not m.x m/a/0 m/a/1 m/b mm/x z",
			"m":     "m/a/0 m/a/1 m/b",
			"m/a":   "m/a/0 m/a/1",
			"m/b":   "m/b",
			"z":     "z",
			"z/y":   "",
			"none":  "",
			"m/a/9": "",
		} {
			wantList(t, b, tree, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.List(ctx, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("list after cancel: %v", err)
		}
	})
}

func readBackBeforeCommit(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		w, err := b.Create(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		w.Write([]byte("head"))
		w.WriteAt([]byte("end"), 6)
		got := make([]byte, 12)
		if n, err := w.ReadAt(got[:5], 1); n != 5 || err != nil || string(got[:5]) != "ead\x00\x00" {
			t.Errorf("%q, %v", got[:n], err)
		}
		if n, err := w.ReadAt(got, 6); n != 3 || err != io.EOF || string(got[:n]) != "end" {
			t.Errorf("%q, %v", got[:n], err)
		}
		if n, err := w.ReadAt(got, 100); n != 0 || err != io.EOF {
			t.Errorf("beyond the end: %d bytes, %v", n, err)
		}
		if _, err := w.ReadAt(got, -1); err == nil {
			t.Error("before the start: no error")
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.ReadAt(got, 0); err == nil {
			t.Error("after commit: no error")
		}
	})
}

// What is being written, and what a crash left of it, is in no list but that of the stage itself.
func temporaryNamesAreNotListed(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "_tmp.m.1/w", "_tmp.m.1/deep/v", "m/w", "m/_tmp.w.9.9", "m/sub/_tmp.s/x", "plain_tmp.x")
		wantList(t, b, "", "m/w plain_tmp.x")
		wantList(t, b, "m", "m/w")
		wantList(t, b, "_tmp.m.1", "_tmp.m.1/deep/v _tmp.m.1/w")
		wantList(t, b, "_tmp.m.1/deep", "_tmp.m.1/deep/v")
		wantContent(t, b, "_tmp.m.1/w", "in _tmp.m.1/w")
		before := state(t, b, "m")
		put(t, b, "m/_tmp.w.9.10", "m/sub/_tmp.s/y", "m/_tmp.t/x")
		if state(t, b, "m") != before {
			t.Error("what is temporary changes the state of its tree")
		}
		if err := b.Publish(t.Context(), "_tmp.m.1", "m", before); err != nil {
			t.Fatal(err)
		}
		wantList(t, b, "", "m/deep/v m/w plain_tmp.x")
		wantContent(t, b, "m/w", "in _tmp.m.1/w")
	})
}

func removing(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "m/a", "m/b/c", "mm/x", "z")
		for _, name := range []string{"m", "m/b", "none", "z/below/an/object"} {
			if err := b.Remove(t.Context(), name); err != nil {
				t.Errorf("remove %q: %v", name, err)
			}
		}
		wantList(t, b, "", "mm/x z")
		if err := b.Remove(t.Context(), "z"); err != nil {
			t.Error(err)
		}
		wantList(t, b, "", "mm/x")
	})
}

func nameIsObjectOrTree(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "a", "t/x", "t/y/z")
		if err := blob.WriteAll(t.Context(), b, "a/below", []byte("x")); err == nil {
			t.Error("an object below an object: no error")
		}
		if err := b.Publish(t.Context(), "t", "a/below/t", blob.Anything); err == nil {
			t.Error("a tree below an object: no error")
		}
		wantList(t, b, "", "a t/x t/y/z")
		put(t, b, "t") // an object in the place of a tree replaces it
		wantList(t, b, "", "a t")
	})
}

func readAllLimit(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		put(t, b, "x") // 4 bytes
		if _, err := blob.ReadAll(t.Context(), b, "x", 3); err == nil || !strings.Contains(err.Error(), "4 bytes, want at most 3") {
			t.Error(err)
		}
		if data, err := blob.ReadAll(t.Context(), b, "x", 4); err != nil || len(data) != 4 {
			t.Error(data, err)
		}
	})
}

func concurrentUse(t *testing.T, k Kind) {
	k.on(t, func(t *testing.T, b blob.Bucket) {
		const writers, rounds = 4, 20
		shared, err := b.Create(t.Context(), "whole")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				if _, err := shared.WriteAt(bytes.Repeat([]byte{byte('a' + i)}, 1000), int64(i)*1000); err != nil {
					t.Error(err)
				}
				for n := range rounds {
					stage := fmt.Sprintf("_tmp.m.%d.%d", i, n)
					for _, piece := range []string{"/x", "/y/z"} {
						if err := blob.WriteAll(t.Context(), b, stage+piece, []byte(stage)); err != nil {
							t.Error(err)
						}
					}
					if err := blob.WriteAll(t.Context(), b, "same", bytes.Repeat([]byte{byte('0' + i)}, 100)); err != nil {
						t.Error(err)
					}
					if err := b.Publish(t.Context(), stage, fmt.Sprintf("m%d", i), blob.Anything); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			for range rounds {
				data, err := blob.ReadAll(t.Context(), b, "same", 100)
				if err == nil && (len(data) != 100 || !bytes.Equal(data, bytes.Repeat(data[:1], 100))) {
					t.Errorf("a mixture of writers: %q", data)
				} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
				if _, err := b.List(t.Context(), ""); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		if err := shared.Commit(); err != nil {
			t.Fatal(err)
		}
		data, err := blob.ReadAll(t.Context(), b, "whole", 1<<20)
		if err != nil || len(data) != writers*1000 || data[0] != 'a' || data[writers*1000-1] != 'a'+writers-1 {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		wantList(t, b, "", "m0/x m0/y/z m1/x m1/y/z m2/x m2/y/z m3/x m3/y/z same whole")
	})
}
