package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func token(name string, s Secret, r Right, limits string) Token {
	l, err := ParseLimits(limits)
	if err != nil {
		panic(err)
	}
	return Token{Name: name, Key: s.Key(), Rights: r, Limits: l}
}

func TestRights(t *testing.T) {
	for r := Read; r <= Read|Write|Administer; r++ {
		if back, err := ParseRights(r.String()); err != nil || back != r {
			t.Errorf("%v read as %v, error %v", r, back, err)
		}
	}
	for _, text := range []string{"", "Read", "read,", "read write", "all"} {
		if r, err := ParseRights(text); err == nil {
			t.Errorf("%q read as %v, want an error", text, r)
		}
	}
	for _, c := range []struct {
		has, need Right
		want      bool
	}{{Read, Read, true}, {Read, Write, false}, {Write, Read, true}, {Write, Administer, false}, {Administer, Read, false}, {0, Read, false}} {
		if c.has.Has(c.need) != c.want {
			t.Errorf("who may %v may %v: want %v", c.has, c.need, c.want)
		}
	}
}

// A grant says which right is missing, and no other.
func TestLack(t *testing.T) {
	s := NewSecret()
	g := NewTable([]Token{token("a", s, Write, "")}).Holder(s)
	var lack *LackError
	if err := g.Check(Read | Administer); !errors.As(err, &lack) || lack.Right != Administer || err.Error() != "the token has no right to administer" {
		t.Errorf("got %v", err)
	}
	if err := g.Check(Read | Write); err != nil {
		t.Error(err)
	}
	if err := (*Grant)(nil).Check(Read | Write | Administer); err != nil {
		t.Errorf("without tokens: %v", err)
	}
}

func TestLimits(t *testing.T) {
	l, err := ParseLimits("partitions=64 memory=8GiB  requests=10000 weight=3 processors=2")
	want := Limits{Memory: 8 << 30, Requests: 10000, Partitions: 64, Processors: 2, Weight: 3}
	if err != nil || l != want || l.String() != "memory=8589934592 requests=10000 partitions=64 processors=2 weight=3" {
		t.Errorf("got %+v (%v), error %v, want %+v", l, l, err, want)
	}
	if l, err := ParseLimits("bytes=7"); err != nil || l != (Limits{Memory: 7}) { // as lists of earlier versions have it
		t.Errorf("got %+v, error %v", l, err)
	}
	for _, text := range []string{"bytes=1 memory=1", "memory", "weight=0", "weight=1001", "processors=-1", "=1",
		"bytes", "bytes=", "bytes=0", "bytes=-1", "bytes=1XB", "requests=1.5", "requests=2000000000",
		"partitions=1 partitions=2", "rows=7", "bytes=9999999999GiB"} {
		if l, err := ParseLimits(text); err == nil {
			t.Errorf("%q read as %+v, want an error", text, l)
		}
	}
}

// What is taken and given back never passes the limits, and what is over them is refused by the name of the limit.
func TestAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAccount("token", Limits{Memory: 100, Partitions: 5})
		var bytes, parts int64
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			b, p := rapid.Int64Range(0, 60).Draw(t, "bytes"), rapid.Int64Range(0, 3).Draw(t, "partitions")
			if rapid.Bool().Draw(t, "back") {
				b, p = min(b, bytes), min(p, parts)
				a.Add(-b, -p)
				bytes, parts = bytes-b, parts-p
				continue
			}
			err := a.Take(b, p)
			if fits := bytes+b <= 100 && parts+p <= 5; fits != (err == nil) {
				t.Fatalf("%d of %d bytes and %d of %d partitions: %v", b, bytes, p, parts, err)
			}
			if err != nil && err.Error() != "the limit of the token is reached: memory=100" &&
				err.Error() != "the limit of the token is reached: partitions=5" {
				t.Fatal(err)
			}
			if err == nil {
				bytes, parts = bytes+b, parts+p
			}
			if left := a.Left(); left != 100-bytes {
				t.Fatalf("%d left, want %d", left, 100-bytes)
			}
		}
	})
	none := (*Account)(nil)
	none.Add(1, 1)
	if err := none.Take(1<<40, 1<<40); err != nil || none.Pace(0) != 0 || none.Left() < 1<<60 {
		t.Errorf("no account: %v", err)
	}
}

// In no second are more requests served than the limit, after those of the first that may come at once; none waits for nothing.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1, 1000).Draw(t, "rate")
		a := NewAccount("token", Limits{Requests: rate})
		now := 10 * time.Second
		var served []time.Duration
		for range 200 {
			now += time.Duration(rapid.Int64Range(0, int64(20*time.Millisecond)).Draw(t, "pause"))
			at := now + a.Pace(now)
			served = append(served, at)
			now = at
		}
		first := 0
		for i, at := range served {
			for served[first] < at-time.Second {
				first++
			}
			if n := int64(i - first + 1); n > 2*rate+1 {
				t.Fatalf("%d requests within a second at a limit of %d", n, rate)
			}
		}
		if last, n := served[len(served)-1]-served[0], int64(len(served)); int64(last/time.Second) < (n-rate-1)/rate-1 {
			t.Fatalf("%d requests within %v at a limit of %d a second", n, last, rate)
		}
	})
	a := NewAccount("token", Limits{Requests: 10})
	for i := range 10 {
		if wait := a.Pace(time.Minute); wait != 0 {
			t.Errorf("request %d of 10 waits for %v", i, wait)
		}
	}
	if wait := a.Pace(time.Minute); wait != 100*time.Millisecond {
		t.Errorf("the 11th of 10 a second waits for %v, want 100ms", wait)
	}
}

func TestProof(t *testing.T) {
	s, other := NewSecret(), NewSecret()
	table := NewTable([]Token{token("a", s, Read, ""), token("b", other, Write, "")})
	c := NewChallenge()
	p := s.Prove(c, []byte("here"))
	if g := table.Prove(p, c, []byte("here")); g.Name() != "a" || g == nil {
		t.Errorf("the proof is of %q, want a", g.Name())
	}
	wrong := p
	wrong[idSize] ^= 1
	stranger := NewSecret().Prove(c, []byte("here"))
	swapped := p
	id := other.Key().id()
	copy(swapped[:], id[:])
	for name, g := range map[string]*Grant{
		"another challenge":  table.Prove(p, NewChallenge(), []byte("here")),
		"another connection": table.Prove(p, c, []byte("there")),
		"a flipped bit":      table.Prove(wrong, c, []byte("here")),
		"an unknown secret":  table.Prove(stranger, c, []byte("here")),
		"another's name":     table.Prove(swapped, c, []byte("here")),
		"nothing":            table.Prove(Proof{}, c, nil),
		"an empty table":     NewTable(nil).Prove(p, c, []byte("here")),
	} {
		if g != nil {
			t.Errorf("%s: proven as %s", name, g.Name())
		}
	}
	if g := table.Holder(other); g.Name() != "b" {
		t.Errorf("the holder is %q, want b", g.Name())
	}
	if g := table.Holder(NewSecret()); g != nil {
		t.Errorf("an unknown secret is %q's", g.Name())
	}
}

// The list together with an overheard exchange is of no use: neither the key, nor the proof, nor what can be made of them, is a secret or
// proves another challenge. With the SHA-256 of the secret in the list the proof was the secret under a mask made of that hash.
func TestListAndProofAreNoSecret(t *testing.T) {
	s := NewSecret()
	table := NewTable([]Token{token("a", s, Read, "")})
	key, heard, c := s.Key(), NewChallenge(), NewChallenge()
	p := s.Prove(heard, nil)
	if table.Prove(p, c, nil) != nil || table.Holder(Secret{key}) != nil || table.Holder(Secret{[32]byte(p[idSize:])}) != nil {
		t.Error("the list and a proof served as the secret")
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("thole token proof of a client"))
	mac.Write(heard[:])
	var unmasked Secret
	subtle.XORBytes(unmasked.b[:], p[idSize:], mac.Sum(nil))
	if table.Holder(unmasked) != nil {
		t.Error("the mask of earlier versions came off")
	}
}

// Secrets do not get into logs.
func TestSecretPrintsNothing(t *testing.T) {
	s := NewSecret()
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %s", s, s, s), fmt.Sprintf("%#v", s)} {
		if strings.Contains(text, s.Text()[:8]) || strings.Contains(text, fmt.Sprint(s.b[0], " ", s.b[1])) {
			t.Errorf("it prints as %s", text)
		}
	}
	back, err := ParseSecret([]byte(" " + s.Text() + "\n"))
	if err != nil || back != s {
		t.Errorf("%v, error %v", back, err)
	}
	for _, text := range []string{"", s.Text()[1:], s.Text() + "0", "x" + s.Text()[1:]} {
		if _, err := ParseSecret([]byte(text)); err == nil || text != "" && strings.Contains(err.Error(), text[1:9]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A token that is replaced is gone; an owner that stays counts on, with its new rights and limits, also under a new secret.
func TestReplace(t *testing.T) {
	a, b, fresh := NewSecret(), NewSecret(), NewSecret()
	table := NewTable([]Token{token("a", a, Read, ""), token("b", b, Write, "memory=10")})
	ga, gb := table.Holder(a), table.Holder(b)
	gb.Account().Add(7, 0)
	gone := func(g *Grant) bool {
		select {
		case <-g.Gone():
			return true
		default:
			return false
		}
	}
	table.Replace([]Token{token("b", b, Read, "memory=5"), token("b", fresh, Read, "memory=5")})
	if !gone(ga) || gone(gb) {
		t.Errorf("a is gone: %v, b is gone: %v", gone(ga), gone(gb))
	}
	if table.Holder(a) != nil || table.Holder(b) != gb || gb.Rights() != Read || gb.Account().Left() != -2 || len(table.Grants()) != 2 ||
		len(table.Owners()) != 1 {
		t.Errorf("b has %v and %d bytes left, among %d", gb.Rights(), gb.Account().Left(), len(table.Grants()))
	}
	table.Replace([]Token{token("b", fresh, Read, "memory=5")})
	g := table.Holder(fresh)
	if !gone(gb) || gone(g) || g.Owner() != gb.Owner() || g.Account().Left() != -2 {
		t.Errorf("with a new secret b has %d bytes left, want -2", g.Account().Left())
	}
	table.Replace([]Token{token("c", fresh, Read, "")}) // another name is another owner
	if g := table.Holder(fresh); g.Name() != "c" || table.Owner("b").Terms().CheckJob(JobName{"b", "x"}) != nil ||
		table.Owner("b").Terms().CheckPath("x", false) == nil || table.Owner("b").Terms().Rights != 0 {
		t.Errorf("the secret is now of %q", g.Name())
	}
	if (*Table)(nil).Grants() != nil || (*Grant)(nil).Gone() != nil || (*Table)(nil).Owner("x") != nil || table.Owner("") != nil {
		t.Error("no table has tokens")
	}
}

func TestParseTokens(t *testing.T) {
	h := fmt.Sprintf("ed25519:%064x", 1)
	h2 := fmt.Sprintf("ed25519:%064x", 2)
	all, err := ParseTokens([]byte("# people\n\n  ann\t" + h + " read,write bytes=1KiB jobs=ads-*,bob/x partitions=2 store=models/ads/,s3://b/ads # of ctr\r\n" +
		"bob " + h2 + " administer"))
	want := Scope{Jobs: []string{"ads-*", "bob/x"}, Store: []string{"models/ads/", "s3://b/ads"}}
	if err != nil || len(all) != 2 || all[0].Name != "ann" || all[0].Rights != Read|Write || all[0].Limits != (Limits{Memory: 1024, Partitions: 2}) ||
		all[1].Name != "bob" || all[1].Key[31] != 2 || fmt.Sprint(all[0].Scope) != fmt.Sprint(want) {
		t.Errorf("got %+v, error %v", all, err)
	}
	for text, want := range map[string]string{
		"ann":                                          "line 1: 1 words, want a name",
		"\nann " + h:                                   "line 2: 2 words",
		"a/b " + h + " read":                           `name "a/b", want 1 to 64 letters`,
		"ann " + h[:70] + " read":                      "token ann: want ed25519: and 64 hexadecimal digits",
		"ann x" + h[1:] + " read":                      "token ann: want ed25519: and 64 hexadecimal digits",
		"ann " + h[8:] + " read":                       "token ann: its line is of an earlier version and has the SHA-256",
		"ann " + h + " fly":                            `token ann: right "fly"`,
		"ann " + h + " read bytes=x":                   `token ann: limit "bytes=x"`,
		"ann " + h + " read rows=7":                    `token ann: "rows", want one of jobs, store, load, memory, requests`,
		"ann " + h + " read jobs=":                     `token ann: jobs: "", want 1 to 512 bytes`,
		"ann " + h + " read jobs=a/b/c":                `token ann: jobs: "a/b/c": want a pattern NAME or OWNER/NAME`,
		"ann " + h + " read jobs=[a]":                  `token ann: jobs: "[a]": want a pattern`,
		"ann " + h + " read store=../x":                `token ann: store: "../x": want a path below`,
		"ann " + h + " read store=/x":                  `token ann: store: "/x": want a path below`,
		"ann " + h + " read load=a load=b":             `token ann: load: "b" a second time`,
		"a " + h + " read\na " + h2 + " write":         "line 2: token a a second time with other rights",
		"a " + h + " read\na " + h2 + " read memory=1": "line 2: token a a second time with other rights",
		"a " + h + " read\nb " + h + " read":           "line 2: token b has the secret of another",
	} {
		if all, err := ParseTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), h[8:28]) {
			t.Errorf("%q: %v, error %v, want %q", text, all, err, want)
		}
	}
	if all, err := ParseTokens([]byte("a " + h + " read jobs=x\na " + h2 + " read jobs=x")); err != nil || len(all) != 2 {
		t.Errorf("two keys of one name: %v, error %v", all, err)
	}
	if _, err := ParseTokens(make([]byte, ListLimit+1)); err == nil {
		t.Error("a list of more than a MiB was read")
	}
}

// Jobs are named relative to their owner, and patterns say which a token is for.
func TestJobs(t *testing.T) {
	terms := func(line string) *Terms {
		all, err := ParseTokens([]byte(line[:strings.Index(line, " ")] + fmt.Sprintf(" ed25519:%064x", 1) + line[strings.Index(line, " "):]))
		if err != nil {
			t.Fatal(err)
		}
		return all[0].terms()
	}
	for _, c := range []struct {
		line, job, full string
		fine            bool
	}{
		{"ads write", "x", "ads/x", true}, {"ads write", "ads/x", "ads/x", true}, {"ads write", "bob/x", "bob/x", false},
		{"ads write", "a/b/c", "a/b/c", false}, {"ads write", "ads/b/c", "ads/b/c", false}, {"ads write", "/x", "/x", false},
		{"ads write jobs=ads-*", "ads-1", "ads/ads-1", true}, {"ads write jobs=ads-*", "x", "ads/x", false},
		{"ads write jobs=ads-*", "bob/ads-1", "bob/ads-1", false}, {"ads write jobs=*", "bob/x", "bob/x", false},
		{"see read jobs=ads/ads-*,x", "ads/ads-7", "ads/ads-7", true}, {"see read jobs=ads/ads-*,x", "x", "see/x", true},
		{"see read jobs=ads/ads-*", "see/ads-1", "see/ads-1", false}, {"see read jobs=*/x", "bob/x", "bob/x", true},
		{"boss read,administer", "bob/x", "bob/x", true}, {"boss read,administer", "/x", "x", true}, {"boss administer jobs=y", "a/b/c", "a/b/c", false},
	} {
		terms := terms(c.line)
		n := terms.Job(c.job)
		if err := terms.CheckJob(n); (err == nil) != c.fine || n.String() != c.full && "/"+n.String() != c.full {
			t.Errorf("%s: %s is %v, error %v", c.line, c.job, n, err)
		}
	}
	if n := (*Terms)(nil).Job("a/b"); n != (JobName{Name: "a/b"}) || (*Terms)(nil).CheckJob(n) != nil {
		t.Errorf("without tokens: %v", n)
	}
	for _, c := range []struct {
		line, path  string
		load, write bool
	}{
		{"ads write", "any", true, true}, {"ads write store=m/ads/", "m/ads", true, true}, {"ads write store=m/ads/", "m/ads/x/y", true, true},
		{"ads write store=m/ads", "m/adsx", false, false}, {"ads write store=m/ads", "m", false, false}, {"ads write store=m/ads", "m/ads/../b", false, false},
		{"ads write store=m/ads", "m/./ads//x", true, true}, {"ads write store=m load=base", "base/x", true, false}, {"ads write load=base", "m", false, false},
		{"ads write store=s3://b/ads", "s3://b/ads/x", true, true}, {"ads write store=s3://b/ads", "s3:/b/ads/x", true, true},
		{"ads write store=s3://b/ads", "s3://b/adsx", false, false}, {"ads write store=s3://b/ads", "s3://b/ads/../c", false, false},
		{"ads write store=.", "s3://b/x", false, false}, {"ads write store=.", "m/x", true, true},
	} {
		terms := terms(c.line)
		if load, write := terms.CheckPath(c.path, false) == nil, terms.CheckPath(c.path, true) == nil; load != c.load || write != c.write {
			t.Errorf("%s: %s may be loaded from: %v, and saved to: %v", c.line, c.path, load, write)
		}
	}
}

// The page has each limit and setting as its table says it.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range LimitTable() {
		if line := fmt.Sprintf("| `%s` | %s | %s |\n", row.Name, row.Bounds, row.Then); !strings.Contains(string(page), line) {
			t.Errorf("docs/operate.md lacks the line %s", line)
		}
	}
	for _, row := range SettingTable() {
		if line := fmt.Sprintf("| `%s` | %s |\n", row.Name, row.Help); !strings.Contains(string(page), line) {
			t.Errorf("docs/operate.md lacks the line %s", line)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte("ann " + fmt.Sprintf("ed25519:%064x", 1) + " read,write bytes=1KiB requests=5 # of ctr\n\nbob " +
		fmt.Sprintf("ed25519:%064x", 2) + " administer jobs=a*,b/c load=x\n"))
	f.Add([]byte("# nobody\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseTokens(text)
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, one := range all {
			fmt.Fprintln(&again, one)
		}
		back, err := ParseTokens(again.Bytes())
		if err != nil || fmt.Sprint(back) != fmt.Sprint(all) {
			t.Errorf("%q was written as %q, error %v", text, again.Bytes(), err)
		}
		if n := len(NewTable(all).Grants()); n != len(all) {
			t.Errorf("%d tokens, %d in the table", len(all), n)
		}
	})
}
