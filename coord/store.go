package coord

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Version tells the values of a key from each other, those that it had before too. It has no order. "" is that of a key
// that is not there.
type Version string

// Store keeps small values by key, and may be used by any number of goroutines and processes. Get, Put and List are linearizable:
// they have seen all that was done before they were called.
//
// An error that is not ErrChanged says nothing of what became of a Put: it may have been done, or be done later. The caller has to look.
type Store interface {
	// Get is the value of a key, which the caller owns. That of a key that is not there is nil, with the version "".
	Get(ctx context.Context, key string) (data []byte, v Version, err error)
	// Put writes a value if the key still has the version old, and otherwise fails with ErrChanged. It keeps nothing of data.
	Put(ctx context.Context, key string, data []byte, old Version) (v Version, err error)
	// List is the keys that begin with a prefix, in their order, each with its value as of some time after the call. It costs a cluster of
	// etcd or Kubernetes one request.
	List(ctx context.Context, prefix string) ([]Entry, error)
	// Watch waits until the key has another version than seen, and answers as Get. It may miss versions in between.
	Watch(ctx context.Context, key string, seen Version) (data []byte, v Version, err error)
	// Close ends what the store has in this process. Nothing of it may be called any more.
	Close() error
}

// Entry is a key with its value, which the caller owns.
type Entry struct {
	Key     string
	Data    []byte
	Version Version
}

// ErrChanged is that of a Put that came too late: the key has another version than the caller has seen.
var ErrChanged = errors.New("changed meanwhile")

// ValueLimit is how many bytes a value has at most.
const ValueLimit = 64 << 10

// CheckPut says what is wrong with what is to be written: values are texts. Stores call it first.
func CheckPut(key string, data []byte) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if len(data) == 0 || len(data) > ValueLimit {
		return fmt.Errorf("coord: %s: a value of %d bytes, want 1 to %d", key, len(data), ValueLimit)
	}
	if !utf8.Valid(data) {
		return fmt.Errorf("coord: %s: a value that is no text in UTF-8", key)
	}
	return nil
}

// CheckValue says what is wrong with what was read. Stores call it before they answer, and read no more than one byte above the limit.
func CheckValue(key string, data []byte) error {
	if len(data) > ValueLimit {
		return fmt.Errorf("coord: %s: a value of more than %d bytes: %w", key, ValueLimit, ErrRecord)
	}
	return nil
}
