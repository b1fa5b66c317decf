package access

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// Limits of a list of tokens.
const (
	ListLimit  = 1 << 20 // bytes
	tokenLimit = 4096
	nameLimit  = 64
)

// Token is a line of a list: what the holder of a secret may do.
type Token struct {
	Name   string // for people; letters, digits and the characters . _ -
	Hash   Hash   // of the secret
	Rights Right
	Limits Limits
}

// String is the token's line in a list.
func (t Token) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %x %v %v", t.Name, t.Hash, t.Rights, t.Limits))
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

// ParseTokens reads a list: lines of a name, the SHA-256 of a secret in hexadecimal digits, rights, and limits if there are
// any, with blanks between them. Empty lines and what stands behind a # are nothing. Errors name the line, and have no hash.
func ParseTokens(text []byte) ([]Token, error) {
	if len(text) > ListLimit {
		return nil, fmt.Errorf("a list of %d bytes, want at most %d", len(text), ListLimit)
	}
	var all []Token
	names, hashes := map[string]bool{}, map[Hash]bool{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		t, err := parseToken(string(line))
		switch {
		case err != nil:
		case names[t.Name]:
			err = fmt.Errorf("token %s a second time", t.Name)
		case hashes[t.Hash]:
			err = fmt.Errorf("token %s has the secret of another", t.Name)
		case len(all) == tokenLimit:
			err = fmt.Errorf("more than %d tokens", tokenLimit)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, t)
		names[t.Name], hashes[t.Hash] = true, true
	}
	return all, nil
}

func parseToken(line string) (t Token, err error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return t, fmt.Errorf("%d words, want a name, the SHA-256 of a secret and rights", len(words))
	}
	t.Name = words[0]
	if err := CheckName(t.Name); err != nil {
		return t, err
	}
	hash, err := hex.DecodeString(words[1])
	if err != nil || len(hash) != len(t.Hash) {
		return t, fmt.Errorf("token %s: want %d hexadecimal digits, the SHA-256 of a secret, behind the name", t.Name, 2*len(t.Hash))
	}
	copy(t.Hash[:], hash)
	if t.Rights, err = ParseRights(words[2]); err == nil {
		t.Limits, err = ParseLimits(strings.Join(words[3:], " "))
	}
	if err != nil {
		return t, fmt.Errorf("token %s: %w", t.Name, err)
	}
	return t, nil
}
