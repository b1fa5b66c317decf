package all

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/format"
)

// damaged calls f for every object below the path of the codec with a plain sample in it.
func damaged(t *testing.T, c kind, s sample, f func(t *testing.T, name, data string, try func(changed []byte) (int, error), want int)) {
	b := &blob.Mem{}
	if err := write(t, b, c, s, format.Options{}); err != nil {
		t.Fatal(err)
	}
	files := snapshot(t, b)
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			try := func(changed []byte) (int, error) {
				other := &blob.Mem{}
				for n, d := range files {
					if n == name {
						d = string(changed)
					}
					if err := blob.WriteAll(context.Background(), other, n, []byte(d)); err != nil {
						t.Fatal(err)
					}
				}
				return load(other, c)
			}
			want, err := try([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			f(t, name, data, try, want)
		})
	}
}

// load reads everything, as the codec and with detection, and counts the cells. It fails if an object is left open.
func load(b blob.Bucket, c kind) (n int, err error) {
	ctx, counted := context.Background(), &counting{Bucket: b}
	defer func() {
		if open := counted.open.Load(); open != 0 {
			n, err = 0, fmt.Errorf("%d objects are left open after: %v", open, err)
		}
	}()
	_, _, _ = Codecs().Detect(ctx, counted, pathOf(c))
	r, _, err := Codecs().Open(ctx, counted, pathOf(c), c.Info().Name, format.Options{})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	all, err := cells(ctx, r)
	return len(all), err
}

// counting is a bucket that knows how many of its objects are open.
type counting struct {
	blob.Bucket
	open atomic.Int64
}

type countedObject struct {
	blob.Object
	once sync.Once
	of   *counting
}

func (c *counting) Open(ctx context.Context, name string) (blob.Object, error) {
	o, err := c.Bucket.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedObject{Object: o, of: c}, nil
}

func (o *countedObject) Close() error {
	o.once.Do(func() { o.of.open.Add(-1) })
	return o.Object.Close()
}

// TestTruncation cuts every file at every byte: an error of the package format, or no value less than before.
func TestTruncation(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		damaged(t, c, s, func(t *testing.T, name, data string, try func([]byte) (int, error), want int) {
			for n := range len(data) {
				got, err := try([]byte(data[:n]))
				if err == nil && got < want {
					t.Errorf("cut at byte %d of %d: %d cells without an error, want %d", n, len(data), got, want)
				}
				if err != nil && !sentinel(err) {
					t.Errorf("cut at byte %d of %d: %v: wraps no error of package format", n, len(data), err)
				}
			}
		})
	})
}

// TestBitFlips turns a bit of every byte: no panic, and errors of the package format.
func TestBitFlips(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		damaged(t, c, s, func(t *testing.T, name, data string, try func([]byte) (int, error), _ int) {
			for i := range len(data) {
				changed := []byte(data)
				changed[i] ^= 1 << (i * 5 % 8)
				if _, err := try(changed); err != nil && !sentinel(err) {
					t.Errorf("bit %d of byte %d: %v: wraps no error of package format", i*5%8, i, err)
				}
			}
		})
	})
}

// TestLongerFiles adds a byte to every file: an error of the package format, or no change.
func TestLongerFiles(t *testing.T) {
	eachPlain(t, func(t *testing.T, c kind, s sample) {
		damaged(t, c, s, func(t *testing.T, name, data string, try func([]byte) (int, error), want int) {
			for _, more := range []string{"\x00", "\xff", "\n"} {
				got, err := try([]byte(data + more))
				if err == nil && got != want {
					t.Errorf("with %q behind: %d cells without an error, want %d", more, got, want)
				}
				if err != nil && !sentinel(err) {
					t.Errorf("with %q behind: %v: wraps no error of package format", more, err)
				}
			}
		})
	})
}
