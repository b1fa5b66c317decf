package access

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// Limits of lists of tokens.
const (
	ListLimit  = 1 << 20 // bytes
	tokenLimit = 4096    // tokens
	nameLimit  = 64      // bytes of a name
)

// Token is a line of a list: a key, and what its holder may do.
type Token struct {
	Name   string // the owner of jobs; letters, digits and the characters . _ -
	Key    Key    // of the secret
	Rights Right
	Scope  Scope
	Limits Limits
}

// keyPrefix begins a key in a list and names its kind.
const keyPrefix = "ed25519:"

// Setting is a kind of word NAME=VALUE that follows the rights in a line.
type Setting struct {
	Name string
	Help string // what it says, for people
	of   func(s *Scope) *[]string
	read func(text string) ([]string, error)
}

// SettingTable is what a line may say besides the limits, in the order in which it is written.
func SettingTable() []Setting {
	return []Setting{
		{"jobs", "patterns of names of jobs, between commas: NAME of jobs of the token itself, OWNER/NAME of jobs of another " +
			"(default: all of its own)", func(s *Scope) *[]string { return &s.Jobs }, parsePatterns},
		{"store", "paths below the server's stores, between commas, from which jobs may load and to which they may save (default: all)",
			func(s *Scope) *[]string { return &s.Store }, parsePaths},
		{"load", "paths from which jobs may load but to which they may not save, between commas", func(s *Scope) *[]string { return &s.Load },
			parsePaths},
	}
}

// ParseScope reads the value of the setting of a name.
func (s *Scope) ParseScope(name, value string) error {
	for _, row := range SettingTable() {
		if row.Name != name {
			continue
		}
		words, err := row.read(value)
		if err == nil && *row.of(s) != nil {
			err = fmt.Errorf("%.40q a second time", value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*row.of(s) = words
		return nil
	}
	return fmt.Errorf("%q, want one of %s", name, strings.Join(wordNames(), ", "))
}

// wordNames are the names of all words that may follow the rights.
func wordNames() (names []string) {
	for _, row := range SettingTable() {
		names = append(names, row.Name)
	}
	return append(names, limitNames()...)
}

// String is the token's line in a list.
func (t Token) String() string {
	words := []string{t.Name, t.Key.String(), t.Rights.String()}
	for _, row := range SettingTable() {
		if value := *row.of(&t.Scope); len(value) > 0 {
			words = append(words, row.Name+"="+strings.Join(value, ","))
		}
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + t.Limits.String())
}

// terms are what the token allows.
func (t *Token) terms() *Terms {
	return &Terms{Rights: t.Rights, Scope: t.Scope, owner: t.Name, listed: true}
}

// CheckName tells what is wrong with a token's name.
func CheckName(name string) error {
	fine := len(name) > 0 && len(name) <= nameLimit
	for _, c := range []byte(name) {
		fine = fine && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0)
	}
	if !fine {
		return fmt.Errorf("name %.80q, want 1 to %d letters, digits and characters . _ -", name, nameLimit)
	}
	return nil
}

// ParseTokens reads a list: lines of a name, a key, rights, and words NAME=VALUE in any order, with blanks between them. Empty lines and
// what follows a # are ignored. Lines of one name differ in their keys alone. Errors name the line and contain no key.
func ParseTokens(text []byte) ([]Token, error) {
	if len(text) > ListLimit {
		return nil, fmt.Errorf("a list of %d bytes, want at most %d", len(text), ListLimit)
	}
	var all []Token
	names, keys := map[string]int{}, map[Key]bool{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		t, err := parseToken(string(line))
		before, twice := names[t.Name]
		switch {
		case err != nil:
		case keys[t.Key]:
			err = fmt.Errorf("token %s has the secret of another", t.Name)
		case twice && (!t.terms().equal(all[before].terms()) || t.Limits != all[before].Limits):
			err = fmt.Errorf("token %s a second time with other rights, scope or limits, want lines of one name to differ in their keys alone",
				t.Name)
		case len(all) == tokenLimit:
			err = fmt.Errorf("more than %d tokens", tokenLimit)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if !twice {
			names[t.Name] = len(all)
		}
		all = append(all, t)
		keys[t.Key] = true
	}
	return all, nil
}

func parseToken(line string) (t Token, err error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return t, fmt.Errorf("%d words, want a name, a key and rights", len(words))
	}
	t.Name = words[0]
	if err := CheckName(t.Name); err != nil {
		return t, err
	}
	if t.Key, err = parseKey(words[1]); err == nil {
		t.Rights, err = ParseRights(words[2])
	}
	for i := 3; i < len(words) && err == nil; i++ {
		var known bool
		if known, err = t.Limits.parse(words[i]); known {
			continue
		}
		name, value, _ := strings.Cut(words[i], "=")
		err = t.Scope.ParseScope(name, value)
	}
	if err != nil {
		return t, fmt.Errorf("token %s: %w", t.Name, err)
	}
	return t, nil
}

// parseKey reads a key. Lists of earlier versions have the SHA-256 of the secret in its place.
func parseKey(word string) (k Key, err error) {
	digits, is := strings.CutPrefix(word, keyPrefix)
	raw, err := hex.DecodeString(digits)
	switch {
	case err == nil && len(raw) == len(k) && !is:
		return k, fmt.Errorf("its line is of an earlier version and has the SHA-256 of the secret, want its public key: make the line again " +
			"from the secret with thole token NAME --secret-from FILE")
	case err != nil || len(raw) != len(k):
		return k, fmt.Errorf("want %s and %d hexadecimal digits, the public key of a secret, after the name", keyPrefix, 2*len(k))
	}
	copy(k[:], raw)
	return k, nil
}
