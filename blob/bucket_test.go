package blob_test

import (
	"testing"

	"thole.example/blob"
	"thole.example/blob/blobtest"
)

func TestBuckets(t *testing.T) {
	dir := func(t *testing.T) blob.Bucket { return blob.NewDir(t.TempDir() + "/not/there/yet") }
	t.Run("dir", func(t *testing.T) { blobtest.Run(t, blobtest.Kind{Empty: dir}) })
	t.Run("mem", func(t *testing.T) {
		blobtest.Run(t, blobtest.Kind{Empty: func(*testing.T) blob.Bucket { return &blob.Mem{} }})
	})
	t.Run("dir of a poorer system", func(t *testing.T) {
		defer blob.Poorer()()
		blobtest.Run(t, blobtest.Kind{Empty: dir, Gap: true})
	})
}
