package access

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/internal/number"
)

// Limits are how much of a server somebody may use; 0 is no limit.
type Limits struct {
	Memory     int64 // bytes of everything that is held for jobs
	Requests   int64 // a second; those of one second may come at once
	Partitions int64
	Processors int64 // that work at once
	Weight     int64 // of the share of processors next to other jobs; 0: 1
}

// Limit is a row of the table of limits.
type Limit struct {
	Name   string
	Old    string // its name in lists of earlier versions, "": it has none
	Bounds string // what it bounds, for people
	Then   string // what happens at the limit
	most   int64
	size   bool // a number of bytes, which may be written like 8GiB
	of     func(l *Limits) *int64
}

// LimitTable is all limits, in the order in which they are written.
func LimitTable() []Limit {
	return []Limit{
		{"memory", "bytes",
			"bytes that the server holds for the jobs: partitions with the state of their rules, staged updates, functions, metadata, and " +
				"requests and answers in flight",
			"requests wait while others are in flight; a request, an answer or a matrix that needs more is refused", math.MaxInt64, true,
			func(l *Limits) *int64 { return &l.Memory }},
		{"requests", "", "requests a second, of all connections together; those of one second may come at once", "later ones wait",
			int64(time.Second), false, func(l *Limits) *int64 { return &l.Requests }}, // more than a nanosecond between two
		{"partitions", "", "partitions of matrices on this server", "the matrix is refused", math.MaxInt64, false,
			func(l *Limits) *int64 { return &l.Partitions }},
		{"processors", "", "requests that are worked on at once", "later ones wait", 1 << 20, false,
			func(l *Limits) *int64 { return &l.Processors }},
		{"weight", "", "share of the processors next to other jobs, which have 1 by default; no limit by itself", "later ones wait", 1000, false,
			func(l *Limits) *int64 { return &l.Weight }},
	}
}

// limitNames are the names of all limits.
func limitNames() (names []string) {
	for _, row := range LimitTable() {
		names = append(names, row.Name)
	}
	return names
}

// ParseLimits reads limits like "memory=8GiB requests=10000 partitions=64", each at most once; no words are no limits.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	for word := range strings.FieldsSeq(text) {
		if known, err := l.parse(word); err != nil {
			return Limits{}, err
		} else if !known {
			return Limits{}, fmt.Errorf("limit %.40q, want one of %s with a value, like partitions=64", word, strings.Join(limitNames(), ", "))
		}
	}
	return l, nil
}

// parse reads a word NAME=VALUE, if it is a limit.
func (l *Limits) parse(word string) (known bool, err error) {
	name, value, _ := strings.Cut(word, "=")
	for _, row := range LimitTable() {
		if name == "" || name != row.Name && name != row.Old {
			continue
		}
		n, err := row.value(value)
		if err != nil || *row.of(l) != 0 {
			return true, fmt.Errorf("limit %.40q, want %s, once", word, row.want())
		}
		*row.of(l) = n
		return true, nil
	}
	return false, nil
}

// value reads the value of a limit.
func (row *Limit) value(text string) (n int64, err error) {
	if row.size {
		n, err = number.ParseBytes(text)
	} else {
		n, err = strconv.ParseInt(text, 10, 64)
	}
	if err == nil && (n < 1 || n > row.most) {
		err = strconv.ErrRange
	}
	return n, err
}

// want says which values the limit may have.
func (row *Limit) want() string {
	switch {
	case row.size:
		return "a number of bytes from 1 on, or a size like 8GiB"
	case row.most < math.MaxInt64:
		return fmt.Sprintf("a number from 1 to %d", row.most)
	}
	return "a number from 1 on"
}

// String is l as [ParseLimits] reads it.
func (l Limits) String() string {
	var words []string
	for _, row := range LimitTable() {
		if n := *row.of(&l); n > 0 {
			words = append(words, row.Name+"="+strconv.FormatInt(n, 10))
		}
	}
	return strings.Join(words, " ")
}

// LimitError says which limit is reached, and nothing else.
type LimitError struct {
	Of    string // token or job
	Limit string // like partitions=64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit of the %s is reached: %s", e.Of, e.Limit)
}

// Account counts what somebody uses, against limits. A nil Account counts nothing and has no limits. Methods may be called by
// many goroutines.
type Account struct {
	of     string
	limits atomic.Pointer[Limits]
	due    atomic.Int64 // when the next request may be served if none may come at once, since any start

	mu                sync.Mutex
	bytes, partitions int64 // of what lasts, and staged updates
	flights           [Directions]flight
	waiting           []*waiter // requests without room, in the order in which they came
}

// NewAccount is an account of the limits; of names whose it is in errors: token or job.
func NewAccount(of string, l Limits) *Account {
	a := &Account{of: of}
	a.limits.Store(&l)
	return a
}

// Limits are those that hold now.
func (a *Account) Limits() Limits {
	if a == nil {
		return Limits{}
	}
	return *a.limits.Load()
}

// Used is how many bytes, with those in flight, and partitions are used.
func (a *Account) Used() (bytes, partitions int64) {
	if a == nil {
		return 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes + a.inFlight(), a.partitions
}

// Take counts bytes and partitions if the limits allow it; else the error is a *LimitError.
func (a *Account) Take(bytes, partitions int64) error {
	if a == nil {
		return nil
	}
	l := a.Limits()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case l.Partitions > 0 && partitions > l.Partitions-a.partitions:
		return &LimitError{a.of, Limits{Partitions: l.Partitions}.String()}
	case l.Memory > 0 && bytes > l.Memory-a.bytes:
		return &LimitError{a.of, Limits{Memory: l.Memory}.String()}
	}
	a.bytes += bytes
	a.partitions += partitions
	return nil
}

// Add counts what is there already, or with numbers below 0 what is there no more, whatever the limits.
func (a *Account) Add(bytes, partitions int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes += bytes
	a.partitions += partitions
	if bytes < 0 {
		a.serve()
	}
}

// Left is how many bytes more may last. What is in flight does not count: it passes, and does not decide what a job may have.
func (a *Account) Left() int64 {
	l := a.Limits()
	if l.Memory == 0 {
		return math.MaxInt64
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return l.Memory - a.bytes
}

// Full is the error of whoever wants more bytes than are left.
func (a *Account) Full() error { return &LimitError{a.of, Limits{Memory: a.Limits().Memory}.String()} }

// Pace counts a request that came at now, since any start, and says how long to wait before it is served, so that no more are
// served than the limit allows.
func (a *Account) Pace(now time.Duration) time.Duration {
	rate := a.Limits().Requests
	if rate == 0 {
		return 0
	}
	each := int64(time.Second) / rate
	for {
		due := a.due.Load()
		next := max(due, int64(now)-int64(time.Second)+each) + each
		if a.due.CompareAndSwap(due, next) {
			return max(0, time.Duration(next-each-int64(now)))
		}
	}
}
