package s3_test

import (
	"crypto/rand"
	"os"
	"testing"

	"thole.example/blob"
	"thole.example/blob/blobtest"
	"thole.example/blob/s3"
)

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
