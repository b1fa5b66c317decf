package blobtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
)

// Objects that are replaced together: m always, and m.c only with every other content.
var setOthers = []string{"m.a", "m.b", "m.c"}

// replaceSet replaces the objects by others of the same sizes.
func replaceSet(ctx context.Context, b blob.Bucket, stage string, round int) (kept bool, err error) {
	text := fmt.Appendf(nil, "%08d", round)
	others := setOthers[:2+round%2]
	for _, name := range append([]string{"m"}, others...) {
		if err := blob.WriteAll(ctx, b, stage+"/"+name, text); err != nil {
			return false, err
		}
	}
	over, err := b.State(ctx, "at/m")
	if err != nil {
		return false, err
	}
	return blob.PublishSet(ctx, b, stage, "at/m", others, setOthers[len(others):], over)
}

// readSet is what all objects of the set hold; it fails if they are not of one round.
func readSet(ctx context.Context, b blob.Bucket) (text string, err error) {
	v, err := blob.PinSet(ctx, b, "at/m", setOthers)
	if err != nil {
		return "", err
	}
	defer v.Close()
	var names []string
	for _, name := range append([]string{"m"}, setOthers...) {
		data, err := blob.ReadAll(ctx, v, "at/"+name, 100)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if names = append(names, name); len(names) == 1 {
			text = string(data)
		}
		if string(data) != text || names[0] != "m" {
			return "", fmt.Errorf("%s holds %q, and %s %q: a mixture", name, data, names[0], text)
		}
	}
	want := []string{"m", "m.a", "m.b", "m.c"}
	if text != "" && (text[len(text)-1]-'0')%2 == 0 {
		want = want[:3]
	}
	if !slices.Equal(names, want) && text != "" {
		return "", fmt.Errorf("%q of round %s, want %q: a mixture", names, text, want)
	}
	return text, nil
}

// WhileReplaced calls read again and again while replace is called for rounds 0 to n-1, and once more. read reports whether it found what
// was replaced as a whole, which it must at least once; until the last round has ended it may fail with blob.ErrChanged.
func WhileReplaced(t *testing.T, n int, replace func(round int) error, read func() (whole bool, err error)) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		for round := range n {
			if err := replace(round); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	found := 0
	for ended := false; !ended; {
		select {
		case err := <-done:
			if ended = true; err != nil {
				t.Error(err)
			}
		default:
		}
		switch whole, err := read(); {
		case err == nil && whole:
			found++
		case err != nil && (!errors.Is(err, blob.ErrChanged) || ended):
			t.Error(err)
			if !ended {
				<-done
			}
			return
		}
	}
	if found == 0 {
		t.Error("nothing was read as a whole")
	}
}

// pinnedSet: who reads an object and others that are replaced together reads those of one moment, or gets blob.ErrChanged.
func pinnedSet(t *testing.T, k Kind) {
	b := k.Empty(t)
	WhileReplaced(t, 10, func(round int) error {
		_, err := replaceSet(t.Context(), b, fmt.Sprintf("at/_tmp.m.%d", round), round)
		return err
	}, func() (whole bool, err error) {
		text, err := readSet(t.Context(), b)
		return text != "", err
	})
	wantList(t, b, "at", "at/m at/m.a at/m.b at/m.c")
}

// mortal is a bucket of a process that is killed after so many changes; the last one is done by half if that is said: an object is at both
// names.
type mortal struct {
	blob.Bucket
	left int
	half bool
}

var errKilled = errors.New("killed")

func (m *mortal) change() error {
	if m.left--; m.left < 0 {
		return errKilled
	}
	return nil
}

func (m *mortal) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := m.change(); err != nil {
		return nil, err
	}
	return m.Bucket.Create(ctx, name)
}

func (m *mortal) Remove(ctx context.Context, name string) error {
	if err := m.change(); err != nil {
		return err
	}
	return m.Bucket.Remove(ctx, name)
}

func (m *mortal) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := m.change(); err != nil {
		return err
	}
	if m.left > 0 || !m.half || strings.HasSuffix(to, blob.ReplacingExt) {
		return m.Bucket.Publish(ctx, from, to, over)
	}
	data, err := blob.ReadAll(ctx, m.Bucket, from, 100)
	if err != nil {
		return err
	}
	return errors.Join(blob.WriteAll(ctx, m.Bucket, to, data), errKilled)
}

// interruptedSet kills a process at each step of a replacement: the next reader finds the old objects or the new ones, and so does everyone
// when that was ended.
func interruptedSet(t *testing.T, k Kind) {
	for _, half := range []bool{false, true} {
		seen := map[string]bool{}
		for steps := 3; ; steps++ {
			b := k.Empty(t)
			if _, err := replaceSet(t.Context(), b, "at/_tmp.m.one", 1); err != nil {
				t.Fatal(err)
			}
			kept, err := replaceSet(t.Context(), &mortal{b, steps, half}, "at/_tmp.m.two", 2)
			if err == nil {
				break
			}
			text, rerr := readSet(t.Context(), b)
			if rerr != nil || text == "" || !kept && text != "00000001" {
				t.Fatalf("killed after %d changes: %q, %v", steps, text, rerr)
			}
			seen[text] = true
			if s, can := b.(blob.Sweeper); can {
				_, err = blob.Swept(t.Context(), b, "at/m")
				if left, lerr := s.Leftovers(t.Context(), "at/m"); len(left) > 0 || lerr != nil {
					t.Errorf("killed after %d changes: %q, %v was left", steps, left, lerr)
				}
			}
			if _, serr := blob.Settle(t.Context(), b, "at/m"); serr != nil || err != nil && !k.Forgets && !errors.Is(err, errKilled) {
				t.Fatalf("killed after %d changes: %v, %v", steps, serr, err)
			}
			want := map[string]string{"00000001": "at/m at/m.a at/m.b at/m.c", "00000002": "at/m at/m.a at/m.b"}[text]
			infos, lerr := b.List(t.Context(), "at")
			var names []string
			for _, i := range infos {
				names = append(names, i.Name)
			}
			after, rerr := readSet(t.Context(), b)
			if after != text || rerr != nil || lerr != nil || strings.Join(names, " ") != want {
				t.Fatalf("killed after %d changes: %q, %v of %q, want %q of %q", steps, after, errors.Join(rerr, lerr), names, text, want)
			}
		}
		if len(seen) != 2 {
			t.Errorf("after an interruption only %v were found, want each of both", seen)
		}
	}
}
