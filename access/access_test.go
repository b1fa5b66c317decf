package access

import (
	"bytes"
	"errors"
	"fmt"
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
	return Token{name, s.Hash(), r, l}
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
	l, err := ParseLimits("partitions=64 bytes=8GiB  requests=10000")
	if want := (Limits{8 << 30, 10000, 64}); err != nil || l != want || l.String() != "bytes=8589934592 requests=10000 partitions=64" {
		t.Errorf("got %+v (%v), error %v, want %+v", l, l, err, want)
	}
	for _, text := range []string{"bytes", "bytes=", "bytes=0", "bytes=-1", "bytes=1XB", "requests=1.5", "requests=2000000000",
		"partitions=1 partitions=2", "rows=7", "bytes=9999999999GiB"} {
		if l, err := ParseLimits(text); err == nil {
			t.Errorf("%q read as %+v, want an error", text, l)
		}
	}
}

// What is taken and given back never passes the limits, and what is over them is refused by the name of the limit.
func TestAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAccount("token", Limits{Bytes: 100, Partitions: 5})
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
			if err != nil && err.Error() != "the limit of the token is reached: bytes=100" &&
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
	copy(swapped[:], other.Hash().id())
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

// The list is of no use to who reads it: neither the hash nor what can be made of it alone is a proof.
func TestHashIsNoSecret(t *testing.T) {
	s := NewSecret()
	table := NewTable([]Token{token("a", s, Read, "")})
	h, c := s.Hash(), NewChallenge()
	var p Proof
	copy(p[:], h.id())
	copy(p[idSize:], h.mask(c, nil))
	if table.Prove(p, c, nil) != nil || table.Holder(Secret{h}) != nil {
		t.Error("the hash served as the secret")
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

// A token that is replaced is gone; one that stays counts on, with its new rights and limits.
func TestReplace(t *testing.T) {
	a, b := NewSecret(), NewSecret()
	table := NewTable([]Token{token("a", a, Read, ""), token("b", b, Write, "bytes=10")})
	ga, gb := table.Holder(a), table.Holder(b)
	gb.Account().Add(7, 0)
	table.Replace([]Token{token("b", b, Read, "bytes=5")})
	select {
	case <-ga.Gone():
	default:
		t.Error("a is not gone")
	}
	select {
	case <-gb.Gone():
		t.Error("b is gone")
	default:
	}
	if table.Holder(a) != nil || table.Holder(b) != gb || gb.Rights() != Read || gb.Account().Left() != -2 || len(table.Grants()) != 1 {
		t.Errorf("b has %v and %d bytes left, among %d", gb.Rights(), gb.Account().Left(), len(table.Grants()))
	}
	table.Replace([]Token{token("c", b, Read, "")}) // another name is another token
	if g := table.Holder(b); g == gb || g.Name() != "c" {
		t.Errorf("b is now %q", g.Name())
	}
	if (*Table)(nil).Grants() != nil || (*Grant)(nil).Gone() != nil {
		t.Error("no table has tokens")
	}
}

func TestParseTokens(t *testing.T) {
	h := fmt.Sprintf("%064x", 1)
	h2 := fmt.Sprintf("%064x", 2)
	all, err := ParseTokens([]byte("# people\n\n  ann\t" + h + " read,write bytes=1KiB partitions=2 # of ctr\r\nbob " + h2 + " administer"))
	if err != nil || len(all) != 2 || all[0].Name != "ann" || all[0].Rights != Read|Write || all[0].Limits != (Limits{1024, 0, 2}) ||
		all[1].Name != "bob" || all[1].Hash[31] != 2 {
		t.Errorf("got %+v, error %v", all, err)
	}
	for text, want := range map[string]string{
		"ann":                                 "line 1: 1 words, want a name",
		"\nann " + h:                          "line 2: 2 words",
		"a/b " + h + " read":                  `name "a/b", want 1 to 64 letters`,
		"ann " + h[1:] + " read":              "token ann: want 64 hexadecimal digits",
		"ann x" + h[1:] + " read":             "token ann: want 64 hexadecimal digits",
		"ann " + h + " fly":                   `token ann: right "fly"`,
		"ann " + h + " read bytes=x":          `token ann: limit "bytes=x"`,
		"a " + h + " read\na " + h2 + " read": "line 2: token a a second time",
		"a " + h + " read\nb " + h + " read":  "line 2: token b has the secret of another",
	} {
		if all, err := ParseTokens([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), h[:20]) {
			t.Errorf("%q: %v, error %v, want %q", text, all, err, want)
		}
	}
	if _, err := ParseTokens(make([]byte, ListLimit+1)); err == nil {
		t.Error("a list of more than a MiB was read")
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte("ann " + fmt.Sprintf("%064x", 1) + " read,write bytes=1KiB requests=5 # of ctr\n\nbob " + fmt.Sprintf("%064x", 2) + " administer\n"))
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
