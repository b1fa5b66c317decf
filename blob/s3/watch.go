package s3

import (
	"io"
	"net/http"
	"time"

	"thole.example/blob"
)

// watched reports requests on which nothing moves for a while: neither what is sent nor what is answered.
type watched struct {
	http.RoundTripper
	outage *blob.Outage
	limit  time.Duration
}

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := w.outage.Watch(w.limit)
	wait.Begin()
	if r.Body != nil && r.Body != http.NoBody {
		sent := *r // the caller's stays as it is
		sent.Body = &sentBody{r.Body, wait}
		r = &sent
	}
	answer, err := w.RoundTripper.RoundTrip(r)
	wait.End(err == nil)
	if err == nil && answer.Body != nil && answer.Body != http.NoBody {
		answer.Body = &download{answer.Body, w.outage.Watch(w.limit)}
	}
	return answer, err
}

// sentBody is the body of a request: when more of it is asked for, the store has taken what was sent before.
type sentBody struct {
	io.ReadCloser
	wait *blob.Wait
}

func (u *sentBody) Read(p []byte) (int, error) {
	u.wait.Moved()
	return u.ReadCloser.Read(p)
}

// download is the body of an answer. While its reader does something else, nothing is waited for.
type download struct {
	io.ReadCloser
	wait *blob.Wait
}

func (d *download) Read(p []byte) (int, error) {
	d.wait.Begin()
	n, err := d.ReadCloser.Read(p)
	d.wait.End(n > 0 || err == io.EOF)
	return n, err
}
