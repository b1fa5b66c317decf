package format_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

func TestOptions(t *testing.T) {
	info := format.Info{Name: "x", Options: []format.Option{{Name: "a", Default: "1"}, {Name: "b"}}}
	o := format.Options{Set: map[string]string{"b": "2"}}
	if a, b, c := o.Get(info, "a"), o.Get(info, "b"), o.Get(info, "c"); a != "1" || b != "2" || c != "" {
		t.Errorf("a %q, b %q, c %q, want 1, 2 and nothing", a, b, c)
	}
	if err := o.CheckSet(info); err != nil {
		t.Error(err)
	}
	o.Set["c"] = "3"
	if err := o.CheckSet(info); !errors.Is(err, format.ErrOption) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("%v, want ErrOption for c", err)
	}
	if err := o.CheckSet(format.Info{Name: "y"}); !errors.Is(err, format.ErrOption) || !strings.Contains(err.Error(), "no options") {
		t.Errorf("%v, want ErrOption for want of options", err)
	}
	var lost []string
	o.Lost = func(what string) { lost = append(lost, what) }
	if err := o.Lose(format.Labels, "w", "label %d", 1); !errors.Is(err, format.ErrLossy) || len(lost) > 0 {
		t.Errorf("%v, lost %q, want ErrLossy", err, lost)
	}
	o.Lossy = true
	if err := o.Lose(format.Labels, "w", "label %d", 1); err != nil || len(lost) != 1 || lost[0] != `matrix "w": label 1` {
		t.Errorf("%v, lost %q, want to be told", err, lost)
	}
	o.Lost = nil
	if err := o.Lose(format.Labels, "", "label"); err != nil {
		t.Error(err)
	}
}

// TestWrap checks which sentinel, place and text errors get.
func TestWrap(t *testing.T) {
	at := &wire.At{Off: 7, Err: errors.New("odd")}
	limit := &wire.At{Off: 7, Err: fmt.Errorf("far: %w", format.ErrLimit)}
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{at, format.ErrCorrupt, "c: p at byte 7: odd"},
		{limit, format.ErrLimit, "c: p at byte 7: far: beyond the limit"},
		{io.ErrNoProgress, io.ErrNoProgress, "c: p: multiple Read calls return no data or error"},
		{format.Corrupt("d", "q", 3, "found %d", 1), format.ErrCorrupt, "d: q at byte 3: found 1"},
		{format.Corrupt("d", "q", -1, "found %w", io.EOF), io.EOF, "d: q: found EOF"},
	} {
		err := format.Wrap("c", "p", c.err)
		if !errors.Is(err, c.is) || err.Error() != c.text {
			t.Errorf("%v, want %s", err, c.text)
		}
	}
	broken := wire.ReadAt(brokenAt{}, make([]byte, 1), 7)
	for _, err := range []error{limit, broken} {
		if err := format.Wrap("c", "p", err); errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%v counts as damage", err)
		}
	}
	if format.Wrap("c", "p", nil) != nil {
		t.Error("nil became an error")
	}
}

type brokenAt struct{}

func (brokenAt) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

// TestStage publishes a piece, a tree, and nothing.
func TestStage(t *testing.T) {
	ctx := context.Background()
	for _, b := range []blob.Bucket{&blob.Mem{}, blob.NewDir(t.TempDir())} {
		put := func(s *format.Stage, pieces ...string) {
			for _, p := range pieces {
				if err := blob.WriteAll(ctx, b, s.Name(p), []byte(p)); err != nil {
					t.Fatal(err)
				}
			}
		}
		one := format.NewStage(b, "d/one", "")
		put(one, "x", "y")
		if err := one.Publish(ctx, "x"); err != nil {
			t.Fatal(err)
		}
		one.Abort(ctx)
		tree, again := format.NewStage(b, "d/tree", "s"), format.NewStage(b, "d/tree", "s")
		put(tree, "x")
		put(again, "e/y")
		if names(t, b, "d/tree") != "" || tree.Tree != again.Tree {
			t.Errorf("%q, %q, want one hidden tree", tree.Tree, again.Tree)
		}
		if err := tree.Publish(ctx, ""); err != nil {
			t.Fatal(err)
		}
		tree.Abort(ctx)
		gone := format.NewStage(b, "d/gone", "")
		put(gone, "x")
		gone.Abort(ctx)
		if err := gone.Publish(ctx, "x"); err == nil {
			t.Error("published what was aborted")
		}
		if got := names(t, b, ""); got != "d/one d/tree/e/y d/tree/x" {
			t.Errorf("holds %s, want the published names", got)
		}
		if other := format.NewStage(b, "d/one", ""); other.Tree == one.Tree {
			t.Error("two saves without a name share a tree")
		}
	}
}
