package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"thole.example/blob/s3/s3test"
)

// TestStoresScript runs the scripts of testdata/stores: sessions at the command line of which each has a store of S3 with the bucket
// "bucket" to itself.
func TestStoresScript(t *testing.T) {
	runScriptsWith(t, "testdata/stores", func(e *testscript.Env) error {
		s := s3test.New("bucket")
		e.Defer(s.Close)
		for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testsecret",
			"AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
			e.Setenv(name, value)
		}
		return nil
	})
}
