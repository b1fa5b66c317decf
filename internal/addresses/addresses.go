// Package addresses finds the addresses of servers by what a user says of them: as they are, as patterns, as lines of a file, or as what
// DNS knows of a service.
//
//	ps-0.ps:7001                         an address: host:port, or unix: and a path
//	ps-{0..2}.ps:7001                    ps-0, ps-1, ps-2; several such ranges are counted like a number, the last one fastest
//	ps-{08..11}.ps:7001                  ps-08 to ps-11: as wide as the wider bound, if one begins with a zero
//	@servers.txt                         the lines of a file; what stands behind # is for people
//	dns+srv://_thole._tcp.ps?count=3     the targets of SRV records with their ports, by name; as soon as there are three
package addresses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of what is taken.
const (
	Limit     = 1024    // addresses
	FileLimit = 1 << 20 // bytes of a file
	wordLimit = 4096    // bytes of a word
)

// ErrWord is that what a user says of servers is not understood, or means something that cannot be.
var ErrWord = errors.New("no addresses of servers")

// wordError is an ErrWord with what is wrong.
type wordError struct{ text string }

// Error implements error.
func (e *wordError) Error() string { return e.text }

// Is implements errors.Is.
func (e *wordError) Is(target error) bool { return target == ErrWord }

// ErrFewer is that DNS did not know as many servers in time as there are to be.
var ErrFewer = errors.New("not as many servers")

// Source is where addresses come from beside the words themselves. The zero value is the files and the DNS of this machine.
type Source struct {
	LookupSRV func(ctx context.Context, name string) ([]*net.SRV, error)
	Pause     time.Duration     // between two questions to DNS; 0: a second
	Waiting   func(text string) // if not nil, told before the first pause, and when that changes, what is waited for
}

// Expand is the addresses that the words stand for, in their order, none twice. Where DNS does not know as many servers as a word asks for
// it asks again until ctx ends, which is ErrFewer then. ErrWord is that no other time would do.
func (s Source) Expand(ctx context.Context, words []string) (all []string, err error) {
	for _, word := range words {
		some, err := s.word(ctx, word)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > Limit {
			return nil, tooMany(word)
		}
	}
	seen := map[string]bool{}
	for i, addr := range all {
		if seen[addr] {
			return nil, wrong("%q is there twice, the second time as number %d, want each server once", addr, i+1)
		}
		seen[addr] = true
	}
	return all, nil
}

func wrong(format string, args ...any) error {
	return &wordError{fmt.Sprintf(format, args...)}
}

func tooMany(word string) error { return wrong("%s: more than %d addresses", quoted(word), Limit) }

// quoted is the beginning of a word.
func quoted(word string) string {
	if len(word) > 80 {
		return strconv.Quote(word[:80]) + "…"
	}
	return strconv.Quote(word)
}

// Scheme is how a word begins that names a service.
const Scheme = "dns+srv://"

func (s Source) word(ctx context.Context, word string) ([]string, error) {
	switch word = strings.TrimSpace(word); {
	case len(word) > wordLimit:
		return nil, wrong("%s: %d bytes, want at most %d", quoted(word), len(word), wordLimit)
	case strings.HasPrefix(word, "@"):
		return lines(word[1:])
	case strings.HasPrefix(word, Scheme):
		return s.service(ctx, word)
	}
	all, err := pattern(word)
	if err != nil && len(word) > len(unixPrefix) && strings.HasPrefix(word, unixPrefix) { // names of files may be anything
		return []string{word}, nil
	}
	return all, err
}

// unixPrefix is how the address of a socket of this machine begins.
const unixPrefix = "unix:"

// lines are the addresses in a file.
func lines(path string) (all []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, FileLimit+1))
	if err != nil {
		return nil, err
	}
	if len(text) > FileLimit {
		return nil, wrong("%s: more than %d bytes", path, FileLimit)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.HasPrefix(line, "@") || strings.HasPrefix(line, Scheme) || len(line) > wordLimit {
			return nil, wrong("%s:%d: %s, want an address, or a pattern of such", path, n, quoted(line))
		}
		some, err := pattern(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if all = append(all, some...); len(all) > Limit {
			return nil, tooMany(path)
		}
	}
	if len(all) == 0 {
		return nil, wrong("%s: no address in it, want one a line", path)
	}
	return all, nil
}

// pattern is the addresses of a pattern.
func pattern(word string) ([]string, error) {
	all := []string{""}
	for rest := word; ; {
		before, after, open := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, wrong("%s: a } without {, want a range like {0..2}", quoted(word))
		}
		if !open {
			return checked(word, join(all, []string{before}))
		}
		inside, behind, closed := strings.Cut(after, "}")
		numbers, err := span(inside)
		if err != nil || !closed {
			return nil, wrong("%s: {%.40s is no range, want one like {0..2} or {00..11}, of at most %d", quoted(word), inside, Limit)
		}
		if len(all)*len(numbers) > Limit {
			return nil, tooMany(word)
		}
		all, rest = join(join(all, []string{before}), numbers), behind
	}
}

// join is each of the texts with each of the ends.
func join(texts, ends []string) (all []string) {
	for _, text := range texts {
		for _, end := range ends {
			all = append(all, text+end)
		}
	}
	return all
}

// span is the numbers of a range like 0..2 or 00..11.
func span(text string) (all []string, err error) {
	first, last, _ := strings.Cut(text, "..")
	lo, err := number(first)
	hi, err2 := number(last)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if hi < lo || hi-lo >= Limit {
		return nil, fmt.Errorf("%d numbers", hi-lo+1)
	}
	width := 0
	if len(first) > 1 && first[0] == '0' || len(last) > 1 && last[0] == '0' {
		width = max(len(first), len(last))
	}
	for n := lo; n <= hi; n++ {
		all = append(all, fmt.Sprintf("%0*d", width, n))
	}
	return all, nil
}

// number is one of at most nine digits, and nothing else.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err == nil && len(text) > 9 {
		err = errors.New("too many digits")
	}
	return int(n), err
}

// checked are addresses, if they are some.
func checked(word string, all []string) ([]string, error) {
	for _, addr := range all {
		if path, unix := strings.CutPrefix(addr, unixPrefix); unix && path != "" {
			continue
		}
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" || strings.ContainsAny(addr, " \t\r\n/") {
			of := ""
			if addr != word {
				of = quoted(word) + ": "
			}
			return nil, wrong("%s%s is no address, want host:port or unix:/path", of, quoted(addr))
		}
	}
	return all, nil
}

// service is the addresses of the servers of a service, as soon as DNS knows all of them.
func (s Source) service(ctx context.Context, word string) ([]string, error) {
	u, err := url.Parse(word)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.User != nil || u.Fragment != "" {
		return nil, wrong("%s, want one like %s_thole._tcp.ps?count=3", quoted(word), Scheme)
	}
	query, err := url.ParseQuery(u.RawQuery)
	count, cerr := strconv.Atoi(query.Get("count"))
	if err != nil || cerr != nil || len(query) != 1 || len(query["count"]) != 1 || count < 1 || count > Limit {
		return nil, wrong("%s, want ?count=N: how many servers there are, 1 to %d", quoted(word), Limit)
	}
	lookup, pause, said := s.LookupSRV, s.Pause, ""
	if lookup == nil {
		lookup = func(ctx context.Context, name string) ([]*net.SRV, error) {
			_, all, err := net.DefaultResolver.LookupSRV(ctx, "", "", name)
			return all, err
		}
	}
	if pause == 0 {
		pause = time.Second
	}
	for {
		records, err := lookup(ctx, u.Host)
		all := targets(records)
		if len(all) == count {
			return all, nil
		}
		text := fmt.Sprintf("%s: found %d servers, want %d", word, len(all), count)
		if err != nil {
			text += ": " + err.Error()
		}
		if s.Waiting != nil && text != said && ctx.Err() == nil {
			said = text
			s.Waiting(text)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", text, ErrFewer)
		case <-time.After(pause):
		}
	}
}

// targets are the addresses of records, by name, with the numbers in names as numbers, each once.
func targets(records []*net.SRV) (all []string) {
	slices.SortFunc(records, func(a, b *net.SRV) int {
		if c := Compare(a.Target, b.Target); c != 0 {
			return c
		}
		return int(a.Port) - int(b.Port)
	})
	for _, r := range records {
		all = append(all, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
	}
	return slices.Compact(all)
}

// Compare orders names as people do: ps-2 comes before ps-10. Numbers in them are compared as numbers, the rest byte by byte.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digits(x), digits(y)
		if n == 0 || m == 0 {
			if x[0] != y[0] {
				return int(x[0]) - int(y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		one, two := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
		if len(one) != len(two) {
			return len(one) - len(two)
		}
		if c := strings.Compare(one, two); c != 0 {
			return c
		}
		x, y = x[n:], y[m:]
	}
	return cmp.Or(len(x)-len(y), len(a)-len(b), strings.Compare(a, b)) // then zeros that a number begins with
}

// digits is how many digits a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
