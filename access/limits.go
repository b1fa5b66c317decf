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
	Bytes      int64 // of partitions, with the state of their rules
	Requests   int64 // a second; those of one second may come at once
	Partitions int64
}

// limitNames are the names of the limits as people write them, in the order of the fields.
var limitNames = [...]string{"bytes", "requests", "partitions"}

// mostRequests keeps the time between two requests above a nanosecond.
const mostRequests = int64(time.Second)

func (l *Limits) field(i int) *int64 { return [...]*int64{&l.Bytes, &l.Requests, &l.Partitions}[i] }

// ParseLimits reads limits like "bytes=8GiB requests=10000 partitions=64", each at most once; no words are no limits.
func ParseLimits(text string) (Limits, error) {
	var l Limits
words:
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		for i, known := range limitNames {
			if name != known {
				continue
			}
			n, err := limitValue(i, value)
			if err != nil || *l.field(i) != 0 {
				return Limits{}, fmt.Errorf("limit %.40q, want one number from 1 on, of bytes also a size like 8GiB", word)
			}
			*l.field(i) = n
			continue words
		}
		return Limits{}, fmt.Errorf("limit %.40q, want one of %s with a value, like partitions=64", word, strings.Join(limitNames[:], ", "))
	}
	return l, nil
}

func limitValue(i int, text string) (int64, error) {
	if i == 0 {
		return number.ParseBytes(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 1 || i == 1 && n > mostRequests) {
		err = strconv.ErrRange
	}
	return n, err
}

// String is l as [ParseLimits] reads it.
func (l Limits) String() string {
	var words []string
	for i, name := range limitNames {
		if n := *l.field(i); n > 0 {
			words = append(words, name+"="+strconv.FormatInt(n, 10))
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
	bytes, partitions int64
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

// Used is how many bytes and partitions are used.
func (a *Account) Used() (bytes, partitions int64) {
	if a == nil {
		return 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes, a.partitions
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
	case l.Bytes > 0 && bytes > l.Bytes-a.bytes:
		return &LimitError{a.of, Limits{Bytes: l.Bytes}.String()}
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
}

// Left is how many bytes may still be used.
func (a *Account) Left() int64 {
	l := a.Limits()
	if l.Bytes == 0 {
		return math.MaxInt64
	}
	used, _ := a.Used()
	return l.Bytes - used
}

// Full is the error of whoever wants more bytes than are left.
func (a *Account) Full() error { return &LimitError{a.of, Limits{Bytes: a.Limits().Bytes}.String()} }

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
