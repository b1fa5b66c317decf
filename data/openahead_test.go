package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"thole.example/blob"
)

// meeting is a bucket in which the first object opens only when more of them are being opened.
type meeting struct {
	blob.Bucket
	opens, most int32
	all         chan struct{}
	failing     string
}

var errMeeting = errors.New("cannot be opened")

func (m *meeting) Open(ctx context.Context, name string) (blob.Object, error) {
	if atomic.AddInt32(&m.opens, 1) == m.most {
		close(m.all)
	}
	select {
	case <-m.all:
	case <-time.After(time.Minute): // else the test would hang
		return nil, errors.New("objects are opened one after the other")
	}
	if name == m.failing {
		return nil, errMeeting
	}
	return m.Bucket.Open(ctx, name)
}

// TestOpenAhead: objects of a store are opened some at once, and are read in order; the first that cannot be opened ends the reading.
func TestOpenAhead(t *testing.T) {
	const n = 40
	var files []string
	store := memories()
	for i := range n {
		name := fmt.Sprintf("mem://b/%02d.libsvm", i)
		if err := blob.WriteAll(t.Context(), store, name, fmt.Appendf(nil, "%d 1:1\n", i)); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	var want []float32
	for i := range n {
		want = append(want, float32(i))
	}
	m := &meeting{Bucket: store, most: requestsAhead, all: make(chan struct{})}
	all, err := LoadFiles(t.Context(), files, nil, Options{Store: m, Labels: NoTrans})
	if err != nil || !slices.Equal(all.Label, want) {
		t.Errorf("%v, %v", all, err)
	}
	m = &meeting{Bucket: store, most: 1, all: make(chan struct{}), failing: files[20]}
	if _, err := LoadFiles(t.Context(), files, nil, Options{Store: m, Labels: NoTrans}); !errors.Is(err, errMeeting) {
		t.Errorf("%v", err)
	}
}
