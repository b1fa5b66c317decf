package s3

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"thole.example/blob"
)

// retryer repeats what the store refused for the moment: throttling, faults of its own, and connections that broke. A store that was never
// reached it soon gives up: more likely its address is wrong than that it is away for a moment.
type retryer struct {
	*retry.Standard
	opts    *Options
	outage  *blob.Outage
	reached *atomic.Bool // an answer came, if only to refuse
}

func (o *Options) retryer(outage *blob.Outage) *retryer {
	r := &retryer{opts: o, outage: outage, reached: new(atomic.Bool)}
	r.Standard = retry.NewStandard(func(r *retry.StandardOptions) {
		r.MaxAttempts = o.Attempts
		r.MaxBackoff = o.Backoff
		r.RateLimiter = ratelimit.None // attempts bound it; a quota shared by all requests makes one fail for what others met
		r.Retryables = append(r.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if cut(err) { // also in the middle of an answer
				return aws.TrueTernary
			}
			return aws.UnknownTernary
		}))
	})
	return r
}

var _ aws.RetryerV2 = (*retryer)(nil)

// GetAttemptToken implements aws.RetryerV2: what it gives is called with what came of an attempt.
func (r *retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, err := r.Standard.GetAttemptToken(ctx)
	return func(err error) error {
		if err == nil || answered(err) != 0 {
			r.reached.Store(true)
		}
		if err == nil || answered(err) != 0 && !r.Standard.IsErrorRetryable(err) {
			r.outage.Over(true)
		}
		return release(err)
	}, err
}

// IsErrorRetryable implements aws.Retryer.
func (r *retryer) IsErrorRetryable(err error) bool {
	if !r.Standard.IsErrorRetryable(err) {
		return false
	}
	if !r.reached.Load() && r.outage.Failed(time.Now(), "", 0, 0) >= r.opts.First {
		r.outage.Over(false)
		return false
	}
	return true
}

// firstPause is the longest one between two attempts to reach a store for the first time.
const firstPause = time.Second

// RetryDelay implements aws.Retryer, and tells of a store that has been away for a while.
func (r *retryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	wait, derr := r.Standard.RetryDelay(attempt, err)
	now, most := time.Now(), r.longest(attempt)
	if !r.reached.Load() {
		wait, most = min(wait, firstPause), min(most, r.opts.First)
	}
	r.outage.Failed(now, reason(err), wait, most)
	return wait, derr
}

// longest is how long all pauses behind an attempt can be.
func (r *retryer) longest(attempt int) (all time.Duration) {
	for n := attempt; n < min(r.opts.Attempts, attempt+100); n++ {
		all += min(time.Second<<min(n, 20), r.opts.Backoff)
	}
	return all
}

// reason is why an attempt failed, without what was asked for.
func reason(err error) string {
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err
	}
	return said(err)
}
