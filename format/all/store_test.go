package all

import (
	"context"
	"crypto/rand"
	"os"
	"testing"

	"thole.example/blob"
	"thole.example/blob/hdfs"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
)

// storeVariable names the store for the tests of this package, as s3://bucket/folder or hdfs://host:port/folder; not set: memory.
const storeVariable = "THOLE_TEST_STORE"

// empty is an empty bucket: in memory, or a folder of its own in the store that the environment names.
func empty(t testing.TB) blob.Bucket {
	t.Helper()
	root := os.Getenv(storeVariable)
	if root == "" {
		return &blob.Mem{}
	}
	stores := blob.NewPaths(s3.Store(nil), hdfs.Store(nil))
	folder := root + "/" + rand.Text()
	t.Cleanup(func() {
		if err := stores.Remove(context.Background(), folder); err != nil {
			t.Error(err)
		}
	})
	return stores.Below(folder)
}

// TestStore reads and writes golden files in a store of S3.
func TestStore(t *testing.T) {
	s := s3test.New("bucket")
	defer s.Close()
	for name, value := range map[string]string{storeVariable: "s3://bucket/models", "AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "test",
		"AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	t.Run("read", TestGoldens)
	t.Run("written", TestGoldensWritten)
	if keys := s.Keys(); len(keys) > 0 {
		t.Errorf("%d objects remain, such as %s", len(keys), keys[0])
	}
}
