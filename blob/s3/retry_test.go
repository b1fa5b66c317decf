package s3_test

import (
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
)

// TestFirstContact: a store that was never reached is given up soon, however often requests may be tried again.
func TestFirstContact(t *testing.T) {
	s := serve(t)
	change := func(o *s3.Options) { o.Attempts, o.First = math.MaxInt32, 50*time.Millisecond }
	url := s.URL
	s.Plan(s3test.After(0, s3test.Cut))
	b := open(t, s, change)
	for range 2 { // each time anew
		if _, err := b.List(t.Context(), "m"); !errors.Is(err, s3.ErrUnreachable) {
			t.Errorf("%v, want that it does not answer", err)
		}
		if len(s.Log()) < 3 {
			t.Errorf("%q, want that it is tried again", s.Log())
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", strings.Replace(url, "127.0.0.1", "127.0.0.1.invalid", 1))
	if _, err := open(t, s, change).List(t.Context(), "m"); !errors.Is(err, s3.ErrUnreachable) {
		t.Errorf("%v, want that there is no such host", err)
	}
}

// TestAttempts: how often a request is tried is said by the options, else by the environment, else by the profile.
func TestAttempts(t *testing.T) {
	s := serve(t)
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("[default]\nmax_attempts = 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	for _, c := range []struct {
		environment   string
		options, want int
	}{{"3", 2, 2}, {"3", 0, 3}, {"", 0, 4}} {
		t.Setenv("AWS_MAX_ATTEMPTS", c.environment)
		s.Plan(nil)
		b := open(t, s, func(o *s3.Options) { o.Attempts, o.Backoff = c.options, time.Millisecond })
		write(t, b, map[string]string{"x": "x"})
		s.Plan(s3test.After(0, s3test.SlowDown))
		_, err := b.List(t.Context(), "x")
		attempts, most := map[string]int{}, 0 // of each request: a list makes several
		for _, request := range s.Log() {
			attempts[request]++
			most = max(most, attempts[request])
		}
		if err == nil || most != c.want {
			t.Errorf("options %d, environment %q: %v after %d attempts, want %d", c.options, c.environment, err, most, c.want)
		}
	}
}

// TestOutageIsTold: a store that does not answer for a while is told of once, though many ask, and that it answers again.
func TestOutageIsTold(t *testing.T) {
	s := serve(t)
	var mu sync.Mutex
	var told []string
	b := open(t, s, func(o *s3.Options) {
		o.Attempts, o.Quiet = math.MaxInt32, 300*time.Millisecond // a slow answer is no outage
		o.Tell = func(text string) { mu.Lock(); defer mu.Unlock(); told = append(told, text) }
	})
	write(t, b, map[string]string{"x": "x"})
	down := true
	s.Plan(func(n int, _ *http.Request) s3test.Action {
		mu.Lock()
		defer mu.Unlock()
		if down = down && (n < 20 || len(told) == 0); down {
			return s3test.Cut
		}
		return s3test.Pass
	})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := blob.ReadAll(t.Context(), b, "x", 10); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(told) != 2 || !strings.HasPrefix(told[0], "s3://store: ") || !strings.Contains(told[0], "; tries again for at most ") ||
		told[1] != "s3://store answers again" {
		t.Errorf("told %q, want of one outage and its end", told)
	}
}

// TestSilence: a request without an answer, and an answer that breaks off in silence, are reported while they last, and the answer after
// them; then the store does as before.
func TestSilence(t *testing.T) {
	for name, action := range map[string]s3test.Action{"no answer": s3test.Slow, "half an answer": s3test.Stall} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			told := make(chan string, 100)
			b := open(t, s, func(o *s3.Options) {
				o.Quiet, o.Timeout = 200*time.Millisecond, 2*time.Second
				o.Tell = func(text string) { told <- text }
			})
			write(t, b, map[string]string{"x": "some text"})
			var once sync.Once
			s.Plan(func(_ int, r *http.Request) (a s3test.Action) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/x") {
					once.Do(func() { a = action })
				}
				return a
			})
			if text, err := blob.ReadAll(t.Context(), b, "x", 10); err != nil || string(text) != "some text" {
				t.Errorf("%q, %v", text, err)
			}
			first, last := <-told, <-told
			for !strings.HasSuffix(last, "answers again") { // a busy machine may be late for other requests, too
				last = <-told
			}
			if !strings.HasPrefix(first, "s3://store: no answer to a request for ") || last != "s3://store answers again" {
				t.Errorf("told %q and %q", first, last)
			}
		})
	}
}
