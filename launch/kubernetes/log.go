package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"thole.example/kubeapi"
)

// Log writes what a pod of a launch has printed, or its last lines if tail is above 0, and while follow what it prints, until its process
// ends. A connection that is lost is made again where it was.
func (c *Cluster) Log(ctx context.Context, pod string, out io.Writer, follow bool, tail int) error {
	q := url.Values{"timestamps": {"true"}} // by which it is known what was printed
	if follow {
		q.Set("follow", "true")
	}
	if tail > 0 {
		q.Set("tailLines", fmt.Sprint(tail))
	}
	var last time.Time
	for {
		if !last.IsZero() {
			q.Set("sinceTime", last.Format(time.RFC3339)) // whole seconds
		}
		seen, whole, err := c.logOnce(ctx, pod, q, out, last)
		if err != nil || whole || !follow || ctx.Err() != nil {
			return err
		}
		last = seen
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// logOnce prints the lines after a time until the answer ends, and says when the last one was written. It is whole if it ended as answers
// do, and not amid something.
func (c *Cluster) logOnce(ctx context.Context, pod string, q url.Values, out io.Writer, after time.Time) (last time.Time, whole bool,
	err error) {
	last = after
	r, err := c.API.Send(ctx, http.MethodGet, "/api/v1/namespaces/"+c.Namespace+"/pods/"+pod+"/log?"+q.Encode(), kubeapi.JSON, nil)
	if err != nil {
		return last, false, fmt.Errorf("kubernetes: %w", err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(r.Body, objectLimit)) // without it there is the status
		a := kubeapi.Answer{Status: r.StatusCode, Body: body}
		return last, false, fmt.Errorf("kubernetes: HTTP status %d %.300q", a.Status, a.Message())
	}
	in := bufio.NewReaderSize(r.Body, 64<<10)
	begins, printed := true, false // the line begins; it was printed before
	for {
		part, err := in.ReadSlice('\n') // of a line that is longer, a part
		if begins {
			word, text, _ := bytes.Cut(part, []byte(" "))
			if when, terr := time.Parse(time.RFC3339Nano, string(word)); terr == nil {
				printed = !when.After(after)
				last, part = when, text
			}
		}
		begins = err == nil
		if !printed {
			if _, werr := out.Write(part); werr != nil {
				return last, true, werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return last, true, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return last, false, nil
		}
	}
}
