package s3_test

import (
	"crypto/rand"
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
	o := s3.Options{Bucket: s.Bucket, Prefix: "some/where", Backoff: time.Millisecond, PartSize: 5 << 20}
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

// TestSuite runs the suite over the store of this process: a full one, one that knows conditions only of puts, one whose listings have
// small pages, and one that fails every tenth time.
func TestSuite(t *testing.T) {
	for name, set := range map[string]func(s *s3test.Server){
		"full":  func(*s3test.Server) {},
		"poor":  func(s *s3test.Server) { s.Poor = true },
		"pages": func(s *s3test.Server) { s.Page = 3 },
		"faulty": func(s *s3test.Server) {
			s.Plan(s3test.Random(7, 0.1, s3test.SlowDown, s3test.InternalError, s3test.Cut, s3test.Lost, s3test.Half))
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
	blobtest.Run(t, blobtest.Kind{Replaces: true, SameBytes: true, Empty: func(t *testing.T) blob.Bucket {
		b, err := s3.New(t.Context(), s3.Options{Bucket: name, Prefix: "test/" + rand.Text()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}})
}
