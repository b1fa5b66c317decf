package bench

import (
	"fmt"
	"strings"
)

// Settings are what was measured: those that the kind has, in this order; the others are nil, and not in the JSON.
type Settings struct {
	Keys    *int     `json:"keys,omitempty"`
	Dim     *int     `json:"dim,omitempty"`
	Batch   *int     `json:"batch,omitempty"`
	Skew    *float64 `json:"skew,omitempty"` // nil: all keys come as often
	Depth   *int     `json:"inFlight,omitempty"`
	Rule    *string  `json:"rule,omitempty"`      // "none": deltas are added
	Cache   *int64   `json:"cache,omitempty"`     // bytes; nil: none
	Stale   *int     `json:"staleness,omitempty"` // of the cache, in requests; nil: no bound
	Wire    *string  `json:"wire,omitempty"`      // nil: values cross the network as they are
	Cols    *int64   `json:"cols,omitempty"`
	Tasks   *int     `json:"tasks,omitempty"`
	Async   *bool    `json:"async,omitempty"`
	ByKey   *bool    `json:"byKey,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
	Servers *int     `json:"servers,omitempty"`

	// What [Run] does not know, and who starts the servers may fill in.
	Where    *string `json:"where,omitempty"`    // the servers are: "started", "in-process" or "running", that is, not ours
	Memory   *int64  `json:"memory,omitempty"`   // most bytes of each server that was started, -1: no bound
	Checksum *bool   `json:"checksum,omitempty"` // frames have one
	TLS      *bool   `json:"tls,omitempty"`      // connections are encrypted; nil: they are not
}

// settings are those of the kind that Run knows.
func (c *Config) settings() Settings {
	var s Settings
	rule := c.Rule
	if rule == "" {
		rule = "none"
	}
	if c.What != "table" {
		s.Servers = new(len(c.Servers))
	}
	if c.What != "storm" {
		s.Seconds = &c.Seconds
	}
	switch c.What {
	case "pull", "push":
		s.Depth, s.Wire = &c.Depth, c.wire()
		if c.Cache > 0 {
			s.Cache = &c.Cache
		}
		if c.Staleness > 0 {
			s.Stale = &c.Staleness
		}
		fallthrough
	case "table":
		s.Keys, s.Dim, s.Batch, s.Rule = &c.Keys, &c.Dim, &c.Batch, &rule
		if c.Skew != 0 {
			s.Skew = &c.Skew
		}
	case "row":
		s.Cols, s.Wire = &c.Cols, c.wire()
	case "storm":
		s.Cols, s.Async, s.ByKey = &c.Cols, &c.Async, &c.ByKey
		fallthrough
	case "barrier":
		s.Tasks = &c.Tasks
	}
	return s
}

// wire is the type as which values cross the network, nil if that is their own.
func (c *Config) wire() *string {
	if c.Wire == "" {
		return nil
	}
	return &c.Wire
}

// String names all that are known.
func (s *Settings) String() string {
	var words []string
	add(&words, "keys", s.Keys)
	add(&words, "dim", s.Dim)
	add(&words, "batch", s.Batch)
	add(&words, "skew", s.Skew)
	add(&words, "in-flight", s.Depth)
	add(&words, "rule", s.Rule)
	add(&words, "cache", s.Cache)
	add(&words, "staleness", s.Stale)
	add(&words, "wire", s.Wire)
	add(&words, "cols", s.Cols)
	add(&words, "tasks", s.Tasks)
	add(&words, "async", s.Async)
	add(&words, "by-key", s.ByKey)
	add(&words, "seconds", s.Seconds)
	add(&words, "servers", s.Servers)
	add(&words, "where", s.Where)
	add(&words, "memory", s.Memory)
	add(&words, "checksum", s.Checksum)
	add(&words, "tls", s.TLS)
	return strings.Join(words, ", ")
}

func add[T any](words *[]string, name string, value *T) {
	if value != nil {
		*words = append(*words, fmt.Sprintf("%s %v", name, *value))
	}
}
