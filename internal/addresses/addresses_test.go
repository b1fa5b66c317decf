package addresses

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestExpand: what words mean, and what is wrong with others.
func TestExpand(t *testing.T) {
	for _, tc := range []struct{ words, want, fail string }{
		{"", "", `"" is no address, want host:port or unix:/path`},
		{"a:1", "a:1", ""},
		{"b:1 a:1", "b:1 a:1", ""},
		{"[::1]:7001", "[::1]:7001", ""},
		{"unix:/run/s.sock", "unix:/run/s.sock", ""},
		{"unix:s-{0..1}", "unix:s-0 unix:s-1", ""},
		{"ps-{0..2}.ps:7001", "ps-0.ps:7001 ps-1.ps:7001 ps-2.ps:7001", ""},
		{"ps-{9..11}:1", "ps-9:1 ps-10:1 ps-11:1", ""},
		{"ps-{09..11}:1", "ps-09:1 ps-10:1 ps-11:1", ""},
		{"ps-{00..1}:1", "ps-00:1 ps-01:1", ""},
		{"ps-{0..01}:1", "ps-00:1 ps-01:1", ""},
		{"r{0..1}-{1..2}:700{3..4}", "r0-1:7003 r0-1:7004 r0-2:7003 r0-2:7004 r1-1:7003 r1-1:7004 r1-2:7003 r1-2:7004", ""},
		{"a:{1..2} b:1", "a:1 a:2 b:1", ""},
		{"a{5..5}:1", "a5:1", ""},
		{"a:1 a:1", "", `"a:1" is there twice, the second time as number 2`},
		{"a{0..1}:1 a1:1", "", `"a1:1" is there twice, the second time as number 3`},
		{"host", "", `"host" is no address`},
		{"a{0..1}", "", `"a{0..1}": "a0" is no address`},
		{"host:", "", `"host:" is no address`},
		{":7001", "", `":7001" is no address`},
		{"http://a:1", "", "is no address"},
		{"a{0..2:1", "", "is no range, want one like {0..2}"},
		{"a{2..0}:1", "", "{2..0 is no range"},
		{"a{0..}:1", "", "{0.. is no range"},
		{"a{-1..2}:1", "", "{-1..2 is no range"},
		{"a{+1..2}:1", "", "{+1..2 is no range"},
		{"a{0...2}:1", "", "{0...2 is no range"},
		{"a{x}:1", "", "{x is no range"},
		{"a{0..99999999999999999999}:1", "", "is no range"},
		{"a{0..1024}:1", "", "is no range, want one like {0..2} or {00..11}, of at most 1024"},
		{"a{0..99}{0..99}:1", "", "more than 1024 addresses"},
		{"a{0..1023}:1 b:1", "", "more than 1024 addresses"},
		{"a}:1", "", "a } without {"},
		{"a{{0..1}}:1", "", "is no range"},
		{strings.Repeat("a", 5000) + ":1", "", "5002 bytes, want at most 4096"},
		{"unix:/{a}/s", "unix:/{a}/s", ""},
		{"unix:", "", `"unix:" is no address`},
		{"dns+srv://x", "", "want ?count=N"},
		{"dns+srv://x?count=0", "", "want ?count=N: how many servers there are, 1 to 1024"},
		{"dns+srv://x?count=3&count=4", "", "want ?count=N"},
		{"dns+srv://x?count=3&port=4", "", "want ?count=N"},
		{"dns+srv://?count=3", "", "want one like dns+srv://_thole._tcp.ps?count=3"},
		{"dns+srv://x/y?count=3", "", "want one like dns+srv://"},
		{"dns+srv://%zz?count=3", "", "want one like dns+srv://"},
	} {
		words := strings.Split(tc.words, " ")
		got, err := Source{LookupSRV: nobody}.Expand(t.Context(), words)
		switch {
		case tc.fail != "" && (!errors.Is(err, ErrWord) || !strings.Contains(err.Error(), tc.fail) || len(err.Error()) > 400):
			t.Errorf("%.80s: %v, want %s", tc.words, err, tc.fail)
		case tc.fail == "" && (err != nil || strings.Join(got, " ") != tc.want):
			t.Errorf("%.80s: %s, %v, want %s", tc.words, got, err, tc.want)
		}
	}
}

func nobody(context.Context, string) ([]*net.SRV, error) { return nil, errors.New("no such host") }

// TestFile: a file has addresses and patterns, a line each.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "servers")
	for _, tc := range []struct{ text, want, fail string }{
		{"a:1\nb:2\n", "a:1 b:2", ""},
		{"# ours\r\n\r\n a:1  # the first\r\nb{0..1}:2", "a:1 b0:2 b1:2", ""},
		{"", "", ": no address in it, want one a line"},
		{"a:1\nb\n", "", `:2: "b" is no address`},
		{"a:1\n@servers\n", "", `:2: "@servers", want an address, or a pattern of such`},
		{"dns+srv://x?count=1\n", "", ":1: "},
		{"a{0..999}:1\nb{0..999}:1\n", "", "more than 1024 addresses"},
		{strings.Repeat("#\n", FileLimit/2+1), "", "more than 1048576 bytes"},
		{"a:1\na:1\n", "", "twice"},
	} {
		if err := os.WriteFile(file, []byte(tc.text), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Source{}.Expand(t.Context(), []string{"@" + file})
		if tc.fail == "" && (err != nil || strings.Join(got, " ") != tc.want) || tc.fail != "" && (!errors.Is(err, ErrWord) || !strings.Contains(err.Error(), tc.fail)) {
			t.Errorf("%.40q: %s, %v, want %s%s", tc.text, got, err, tc.want, tc.fail)
		}
	}
	if _, err := (Source{}).Expand(t.Context(), []string{"@" + file + ".none"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestService: servers come in the order of their names once there are as many as are wanted; until then it is said how many there are.
func TestService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, said := 0, []string{}
		s := Source{
			LookupSRV: func(_ context.Context, name string) ([]*net.SRV, error) {
				asked++
				all := []*net.SRV{{Target: "ps-10.ps.", Port: 7001}, {Target: "ps-9.ps.", Port: 7002}, {Target: "ps-9.ps.", Port: 7001}}
				switch {
				case name != "_thole._tcp.ps":
					return nil, fmt.Errorf("%s: no such name", name)
				case asked == 1:
					return nil, errors.New("no such host")
				case asked < 4:
					return all[:1], nil
				}
				return append(all, all[0]), nil
			},
			Waiting: func(text string) { said = append(said, text) },
		}
		got, err := s.Expand(t.Context(), []string{"dns+srv://_thole._tcp.ps?count=3"})
		if want := "ps-9.ps:7001 ps-9.ps:7002 ps-10.ps:7001"; err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
		if want := []string{"dns+srv://_thole._tcp.ps?count=3: found 0 servers, want 3: no such host",
			"dns+srv://_thole._tcp.ps?count=3: found 1 servers, want 3"}; !slices.Equal(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Expand(ctx, []string{"dns+srv://_thole._tcp.ps?count=2"}); !errors.Is(err, ErrFewer) || !strings.Contains(err.Error(), "found 3 servers, want 2") {
			t.Errorf("more servers than wanted: %v", err)
		}
	})
}

// TestCompare: names are ordered with their numbers as numbers, and as an order has to be.
func TestCompare(t *testing.T) {
	sorted := []string{"", "1", "01", "2", "10", "a", "a-0", "a-1", "a-01", "a-2", "a-10", "a-10b", "a-b", "b"}
	for range 100 {
		got := slices.Clone(sorted)
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if slices.SortFunc(got, Compare); !slices.Equal(got, sorted) {
			t.Fatalf("%q, want %q", got, sorted)
		}
	}
}

// FuzzExpand: no word makes trouble, and what comes of one is addresses that mean themselves, none twice, and not too many.
func FuzzExpand(f *testing.F) {
	for _, word := range []string{"a:1", "ps-{0..2}.ps:7001", "r{0..1}-{00..11}:700{3..4}", "unix:/s", "dns+srv://_t._tcp.ps?count=2", "a{0..:1", "}", "@x", "[::1]:2"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.HasPrefix(strings.TrimSpace(word), "@") {
			return // files have the same lines
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		two := []*net.SRV{{Target: "b.", Port: 2}, {Target: "a.", Port: 1}}
		all, err := Source{LookupSRV: func(context.Context, string) ([]*net.SRV, error) { return two, nil }}.Expand(ctx, []string{word})
		if err != nil {
			if !errors.Is(err, ErrWord) && !errors.Is(err, ErrFewer) {
				t.Fatalf("%q: %v", word, err)
			}
			return
		}
		if len(all) == 0 || len(all) > Limit {
			t.Fatalf("%q: %d addresses", word, len(all))
		}
		again, err := Source{}.Expand(t.Context(), all)
		if err != nil || !slices.Equal(again, all) {
			t.Fatalf("%q is %q, which are %q: %v", word, all, again, err)
		}
	})
}
