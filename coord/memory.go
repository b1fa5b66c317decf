package coord

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Memory is a store in this process. Its zero value is empty and ready.
type Memory struct {
	mu      sync.Mutex
	values  map[string]value
	count   uint64        // of all changes, so that no version comes twice
	changed chan struct{} // closed by the next change; nil: nobody waits
}

type value struct {
	data    []byte
	version Version
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, Version, error) {
	data, v, _, err := m.look(ctx, key)
	return data, v, err
}

// look is Get, with what tells of the next change.
func (m *Memory) look(ctx context.Context, key string) ([]byte, Version, <-chan struct{}, error) {
	if err := CheckKey(key); err != nil {
		return nil, "", nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, "", nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return bytes.Clone(m.values[key].data), m.values[key].version, m.changed, nil
}

// Put implements Store.
func (m *Memory) Put(ctx context.Context, key string, data []byte, old Version) (Version, error) {
	if err := CheckPut(key, data); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.values[key].version; now != old {
		return "", fmt.Errorf("coord: %s has version %q, want %q: %w", key, now, old, ErrChanged)
	}
	if m.values == nil {
		m.values = map[string]value{}
	}
	m.count++
	v := Version(strconv.FormatUint(m.count, 10))
	m.values[key] = value{bytes.Clone(data), v}
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
	return v, nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context, prefix string) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Entry
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		if v := m.values[key]; strings.HasPrefix(key, prefix) {
			all = append(all, Entry{key, bytes.Clone(v.data), v.version})
		}
	}
	return all, nil
}

// Watch implements Store.
func (m *Memory) Watch(ctx context.Context, key string, seen Version) ([]byte, Version, error) {
	for {
		data, v, changed, err := m.look(ctx, key)
		if err != nil || v != seen {
			return data, v, err
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-changed:
		}
	}
}

// Close implements Store. What is in the store stays.
func (m *Memory) Close() error { return nil }
