package all

import (
	"testing"

	"thole.example/blob"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
	"thole.example/format"
)

// TestRequests counts the requests of opening a model in a store of S3, in a folder, with two files next to it.
func TestRequests(t *testing.T) {
	s := s3test.New("bucket")
	defer s.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "test",
		"AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	stores := blob.NewPaths(s3.Store(nil))
	defer stores.Close()
	b := stores.Below("s3://bucket")
	for _, c := range []struct {
		kind replacedKind
		want int
	}{
		{replacedKind{codec: "npz", path: "models/plain.npz"}, 6},
		{replacedKind{codec: "csv", path: "models/m.csv", matrices: 1, files: true}, 9},
		{replacedKind{codec: "npy", path: "models/folder/"}, 8},
	} {
		if err := c.kind.write(t.Context(), b, 1); err != nil {
			t.Fatal(err)
		}
		codec, err := Codecs().Lookup(c.kind.codec)
		if err != nil {
			t.Fatal(err)
		}
		before := len(s.Log())
		r, err := format.Open(t.Context(), codec, b, blob.Clean(c.kind.path), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if made := s.Log()[before:]; len(made) != c.want {
			t.Errorf("%s: %d requests, want %d: %q", c.kind.path, len(made), c.want, made)
		}
		r.Close()
	}
}
