package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thole.example/blob"
	"thole.example/blob/blobtest"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a store and the environment for it.
func serve(t *testing.T) *s3test.Server {
	t.Helper()
	s := s3test.New("store")
	t.Cleanup(s.Close)
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_REGION": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": s.URL,
	} {
		t.Setenv(key, value)
	}
	return s
}

// open is the bucket of a server, with settings for tests that change may change.
func open(t *testing.T, s *s3test.Server, change func(o *s3.Options)) *s3.Bucket {
	t.Helper()
	o := s3.Options{Bucket: s.Bucket, Prefix: "some/where", Backoff: time.Millisecond, PartSize: 64 << 10}
	if change != nil {
		change(&o)
	}
	b, err := s3.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestSuite runs the suite over the store of this process: a full one, and one that knows conditions only of puts, lists in small pages,
// and fails every tenth time.
func TestSuite(t *testing.T) {
	for name, set := range map[string]func(s *s3test.Server){
		"full": func(*s3test.Server) {},
		"poor": func(s *s3test.Server) {
			s.Poor, s.Page = true, 3
			s.Plan(s3test.Random(7, 0.1, faults...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, blobtest.Kind{Replaces: true, SameBytes: true, Empty: func(t *testing.T) blob.Bucket {
				s := serve(t)
				set(s)
				return open(t, s, nil)
			}})
		})
	}
}

// TestRealStore runs the suite over the store that the environment names: AWS_ENDPOINT_URL_S3 with credentials, and THOLE_TEST_S3_BUCKET, a
// bucket in which the test makes and removes what it wants below a prefix of its own.
func TestRealStore(t *testing.T) {
	name := os.Getenv("THOLE_TEST_S3_BUCKET")
	if name == "" {
		t.Skip("THOLE_TEST_S3_BUCKET names no bucket to test with")
	}
	t.Run("large", func(t *testing.T) { large(t, real(t, name)) })
	blobtest.Run(t, blobtest.Kind{Replaces: true, SameBytes: true, Empty: func(t *testing.T) blob.Bucket { return real(t, name) }})
}

// real is a bucket of its own in the one that the environment names.
func real(t *testing.T, name string) *s3.Bucket {
	t.Helper()
	prefix := "test/" + rand.Text()
	b, err := s3.New(t.Context(), s3.Options{Bucket: name, Prefix: prefix, PartSize: 5 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all, err := s3.New(context.Background(), s3.Options{Bucket: name})
		if err == nil {
			err = all.Remove(context.Background(), prefix)
			all.Close()
		}
		if err != nil {
			t.Error(err)
		}
		b.Close()
	})
	return b
}

func TestLarge(t *testing.T) { large(t, open(t, serve(t), nil)) }

// TestPaths reaches a bucket by a URL.
func TestPaths(t *testing.T) {
	s := serve(t)
	b := blob.NewPaths(s3.Store(nil))
	write(t, b, map[string]string{"s3://store/at/m/x": "x"})
	if got := contents(t, b, "s3://store/at"); got != "m/x=x" {
		t.Error(got)
	}
	if keys := s.Keys(); len(keys) != 1 || keys[0] != "at/m/x" {
		t.Errorf("%q", keys)
	}
	if _, err := b.Open(t.Context(), "s3:///x"); err == nil {
		t.Error("no bucket: no error")
	}
	if err := b.Publish(t.Context(), "s3://store/at/m", "s3://store/at/n", blob.Nothing); err != nil {
		t.Error(err)
	}
	if got := contents(t, b, "s3://store/at"); got != "n/x=x" {
		t.Error(got)
	}
}

// large writes, publishes and reads objects of several parts.
func large(t *testing.T, b *s3.Bucket) {
	t.Helper()
	data := noise(12<<20 + 1)
	for round, over := range []blob.State{blob.Nothing, blob.Anything, "seen", "seen"} {
		if over == "seen" {
			var err error
			if over, err = b.State(t.Context(), "m"); err != nil || over == blob.Nothing {
				t.Fatal(over, err)
			}
		}
		data[0]++
		if err := blob.WriteAll(t.Context(), b, "_tmp.m.1", data); err != nil {
			t.Fatal(err)
		}
		if round == 3 { // somebody else is faster
			if err := blob.WriteOver(t.Context(), b, "m", data, over); err != nil {
				t.Fatal(err)
			}
		}
		err := b.Publish(t.Context(), "_tmp.m.1", "m", over)
		if errors.Is(err, blob.ErrChanged) != (round == 3) || err != nil && round < 3 {
			t.Errorf("round %d over %q: %v", round, over, err)
		}
		if got, err := blob.ReadAll(t.Context(), b, "m", 1<<30); err != nil || !bytes.Equal(got, data) {
			t.Errorf("round %d: %d bytes, %v", round, len(got), err)
		}
	}
	if err := b.Remove(t.Context(), "_tmp.m.1"); err != nil {
		t.Error(err)
	}
	if err := blob.WriteOver(t.Context(), b, "m", data, blob.Nothing); !errors.Is(err, blob.ErrChanged) {
		t.Errorf("%v, want that something is there", err)
	}
	for _, name := range []string{"_tmp.n.1/one", "_tmp.n.1/deep/two"} {
		if err := blob.WriteAll(t.Context(), b, name, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Publish(t.Context(), "_tmp.n.1", "n", blob.Nothing); err != nil {
		t.Error(err)
	}
	if got, err := blob.ReadAll(t.Context(), b, "n/deep/two", 1<<30); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
