package server_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"thole.example/blob"
)

// awayBucket cannot open objects below a path for a while.
type awayBucket struct {
	blob.Bucket
	away atomic.Pointer[string]
}

var errAway = errors.New("the bucket is away")

func (b *awayBucket) Open(ctx context.Context, name string) (blob.Object, error) {
	if p := b.away.Load(); p != nil && strings.HasPrefix(name, *p) {
		return nil, errAway
	}
	return b.Bucket.Open(ctx, name)
}

// TestServedCheckpointsOfAnOlderRun: a checkpoint that cannot be read for now, or is gone, does not make a server serve one of a training
// before.
func TestServedCheckpointsOfAnOlderRun(t *testing.T) {
	bucket, metas := blob.NewDir(t.TempDir()), servedMetas()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	trainServed(newFleet(t, "mem", 1, bucket, metas), "old", metas, 1, func(int) error { return nil })
	must(bucket.Publish(t.Context(), "ck/000000000001", "aside", blob.Nothing))
	seen, five := &awayBucket{Bucket: bucket}, "ck/000000000005/"
	f := replicas(t, "mem", 1, seen, 0)
	status := f.served[0].ReplicaStatus
	trainServed(newFleet(t, "mem", 1, bucket, metas), "new", metas, 5, func(step int) error {
		switch step {
		case 4:
			f.serving(4)
			seen.away.Store(&five)
			for _, path := range []string{"ck/000000000001", "ck/000000000002", "ck/000000000003"} {
				must(bucket.Remove(t.Context(), path))
			}
			must(bucket.Publish(t.Context(), "aside", "ck/000000000002", blob.Nothing))
		case 5: // which is based on none
			must(bucket.Remove(t.Context(), "ck/000000000004"))
			for began := time.Now(); !strings.Contains(status().Error, errAway.Error()); time.Sleep(time.Millisecond) {
				if time.Since(began) > 10*time.Second {
					t.Fatalf("%+v, want that the bucket is away", status())
				}
			}
		}
		return nil
	})
	if now := status(); now.Checkpoint.Step != 4 {
		t.Errorf("while the newest checkpoint cannot be read there is %+v", now.Checkpoint)
	}
	must(bucket.Remove(t.Context(), "ck/000000000005"))
	for began := time.Now(); status().Error != ""; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%+v, want no newer checkpoint", status())
		}
	}
	if now := status(); now.Checkpoint.Step != 4 {
		t.Errorf("after the end of the training there is %+v", now.Checkpoint)
	}
}
