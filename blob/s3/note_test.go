package s3

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPartRange: parts follow each other, none is larger than the store takes, and 10,000 hold the largest object.
func TestPartRange(t *testing.T) {
	for _, first := range []int64{minPart, defaultPart, 100 << 20, maxPart} {
		end := int64(0)
		for i := range 10_000 {
			from, to := partRange(first, i)
			if from != end || to-from < first || to-from > maxPart {
				t.Fatalf("part %d of %d: %d to %d, want it from %d on", i, first, from, to, end)
			}
			end = to
		}
		if end < 5<<40 {
			t.Errorf("10,000 parts of %d hold %d bytes, want 5 TiB", first, end)
		}
	}
}

func TestNoteKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := rapid.StringMatching(`([ab]/)?(_tmp\.)?[abm.]{1,3}`).Draw(t, "tree")
		if got, is := noted(noteKey(tree)); !is || got != tree {
			t.Fatalf("%q has the note %q, which is that of %q, %v", tree, noteKey(tree), got, is)
		}
		if !temporary(noteKey(tree)) {
			t.Fatalf("%q is shown", noteKey(tree))
		}
	})
	for _, key := range []string{"a", "publish", "_tmp.publish", "a/_tmp..publish/b", "_tmp.a.claim", "_tmp.publishing"} {
		if tree, is := noted(key); is {
			t.Errorf("%q is the note of %q", key, tree)
		}
	}
}

// TestNote: what is encoded is decoded, and what names anything outside is refused.
func TestNote(t *testing.T) {
	n := &note{Kind: noteKind, ID: "i", Moved: true, From: "p/s", tree: "p/m",
		New: []entry{{Name: "a", Size: 1, ETag: "e"}, {Name: "b/c", ETag: "f"}}, Old: []entry{{Name: "", ETag: "g"}, {Name: "z", ETag: "h"}}}
	text, err := n.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeNote(text, "p/m"); err != nil || !reflect.DeepEqual(got, n) {
		t.Errorf("%+v, %v, want %+v", got, err, n)
	}
	if got := n.gone(); len(got) != 2 || got[0].Name != "" || got[1].Name != "z" {
		t.Errorf("%v are gone", got)
	}
	if got := n.below("b"); len(got) != 1 || got[0].Name != "b/c" {
		t.Errorf("%v in b", got)
	}
	for _, bad := range []string{
		``, `{}`, `null`, `[]`, `{"thole":"publish.2","id":"i"}`, `{"thole":"publish.1"}`, string(text) + "x",
		`{"thole":"publish.1","id":"i","from":"p"}`, `{"thole":"publish.1","id":"i","from":"p/m"}`, `{"thole":"publish.1","id":"i","from":"p/m/x"}`,
		`{"thole":"publish.1","id":"i","from":"../x"}`, `{"thole":"publish.1","id":"i","to":"p/m/x"}`, `{"thole":"publish.1","id":"i","more":1}`,
		`{"thole":"publish.1","id":"i","new":[{"name":"a","size":1,"etag":"e"}]}`,
		`{"thole":"publish.1","id":"i","from":"s","new":[{"name":"../a","size":1,"etag":"e"}]}`,
		`{"thole":"publish.1","id":"i","from":"s","new":[{"name":"a","size":-1,"etag":"e"}]}`,
		`{"thole":"publish.1","id":"i","from":"s","new":[{"name":"a","size":1}]}`,
		`{"thole":"publish.1","id":"i","from":"s","new":[{"name":"b","etag":"e"},{"name":"a","etag":"e"}]}`,
		`{"thole":"publish.1","id":"i","from":"s","old":[{"name":"a","etag":"e"},{"name":"a","etag":"e"}]}`,
	} {
		if got, err := decodeNote([]byte(bad), "p/m"); !errors.Is(err, ErrMarker) {
			t.Errorf("%s: %+v, %v, want that it is damaged", bad, got, err)
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(`{"thole":"publish.1","id":"i","moved":true,"from":"s","new":[{"name":"a","size":1,"etag":"e"}],"old":[{"name":"","size":0,"etag":"e"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := decodeNote(text, "p/m")
		if err != nil {
			return
		}
		for _, e := range append(n.New, n.Old...) {
			if at := e.at(n.tree); at != "p/m" && (!strings.HasPrefix(at, "p/m/") || !fs.ValidPath(at)) {
				t.Errorf("%q lies outside", at)
			}
		}
		if overlap(n.From, n.tree) {
			t.Errorf("from %q", n.From)
		}
	})
}

// TestGoverning: the outermost tree that was moved says where a name lies.
func TestGoverning(t *testing.T) {
	held, outer, inner := &note{tree: "a"}, &note{tree: "a", Moved: true, ID: "outer"}, &note{tree: "a/b", Moved: true, ID: "inner"}
	for _, c := range []struct {
		notes   []*note
		id, rel string
	}{
		{nil, "", ""},
		{[]*note{nil, nil, nil}, "", ""},
		{[]*note{held, nil, nil}, "", ""},
		{[]*note{outer, inner, nil}, "outer", "b/c"},
		{[]*note{held, inner, nil}, "inner", "c"},
		{[]*note{nil, nil, {tree: "a/b/c", Moved: true, ID: "self"}}, "self", ""},
	} {
		n, rel := governing(c.notes, "a/b/c")
		if n == nil {
			n = &note{}
		}
		if n.ID != c.id || rel != c.rel {
			t.Errorf("%v: %q, %q, want %q, %q", c.notes, n.ID, rel, c.id, c.rel)
		}
	}
}

func TestParseURL(t *testing.T) {
	for address, want := range map[string]Options{
		"s3://b":               {Bucket: "b"},
		"s3://b/":              {Bucket: "b"},
		"s3://b/p/q%20r#1":     {Bucket: "b", Prefix: "p/q%20r#1"},
		"s3://b/p?region=eu-1": {Bucket: "b", Prefix: "p", Region: "eu-1"},
		"s3://b?endpoint=http://h:9000&path-style=true&part-size=8388608&concurrency=2&timeout=30s&age=1h&profile=w": {
			Bucket: "b", Endpoint: "http://h:9000", PathStyle: true, PartSize: 8 << 20, Concurrency: 2, Timeout: 30 * time.Second, Age: time.Hour,
			Profile: "w"},
	} {
		if got, err := ParseURL(address); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", address, got, err, want)
		}
	}
	for address, say := range map[string]string{
		"":                        "want s3://BUCKET/PATH",
		"http://b/p":              "want s3://BUCKET/PATH",
		"s3:///p":                 "want the name of one",
		"s3://b/../p":             "not a name within",
		"s3://b/p//q":             "not a name within",
		"s3://b?zone=1":           "age, concurrency, endpoint, part-size, path-style, profile, region, timeout",
		"s3://b?region=a&region=": "2 times",
		"s3://b?part-size=1":      "want 5242880 to",
		"s3://b?part-size=x":      "part-size",
		"s3://b?concurrency=-1":   "want none below 0",
		"s3://b?endpoint=h:9000":  "want http://HOST:PORT",
		"s3://b?timeout=0s":       "want more than 0",
		"s3://b?%zz":              "question mark",
	} {
		if got, err := ParseURL(address); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %+v, %v, want an error that says %q", address, got, err, say)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("s3://b/p?endpoint=http://h:9000&region=eu-1")
	f.Add("s3://0//")
	f.Fuzz(func(t *testing.T, address string) {
		o, err := ParseURL(address)
		if err == nil && (o.Bucket == "" || o.Prefix != "" && checkName(o.Prefix) != nil) {
			t.Errorf("%q: %+v", address, o)
		}
	})
}
