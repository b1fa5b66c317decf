package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"thole.example/blob"
)

// Bucket is the objects of an S3 bucket below a prefix. It may be used by many goroutines, and by many processes at once.
type Bucket struct {
	opts   Options
	client *s3.Client
	http   *http.Transport
	life   context.Context // of all requests, until Close
	end    context.CancelCauseFunc
	blocks chan struct{} // one token for each block that is read ahead
	left   sync.Map      // of ids of claims and holds that are released, and could not be removed
}

var (
	_ blob.Bucket   = (*Bucket)(nil)
	_ blob.Replacer = (*Bucket)(nil)
	_ blob.Sweeper  = (*Bucket)(nil)
	_ blob.Claimer  = (*Bucket)(nil)
)

// New is the bucket that the options name. It asks the bucket nothing yet: whether it is there is seen by the first request. ctx bounds
// the search for a region where no other source names one.
func New(ctx context.Context, o Options) (*Bucket, error) {
	attempts := o.Attempts
	if err := o.fill(); err != nil {
		return nil, err
	}
	base := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { o.transport(t) })
	outage := &blob.Outage{Store: Scheme + o.Bucket, Tell: o.Tell, Quiet: o.Quiet}
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(base), config.WithRetryer(func() aws.Retryer { return o.retryer(outage) }),
		config.WithLogger(logging.Nop{}), // errors say what is worth saying
	}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.Profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("blob: s3://%s: the configuration of AWS: %w", o.Bucket, err)
	}
	for _, source := range cfg.ConfigSources { // the loader does not look for it where the retryer is given
		if of, is := source.(interface {
			GetRetryMaxAttempts(ctx context.Context) (int, bool, error)
		}); is && attempts == 0 {
			if attempts, _, err = of.GetRetryMaxAttempts(ctx); err != nil {
				return nil, fmt.Errorf("blob: s3://%s: the configuration of AWS: %w", o.Bucket, err)
			}
		}
	}
	o.Attempts = cmp.Or(attempts, o.Attempts)
	b := &Bucket{opts: o, blocks: make(chan struct{}, max(o.Memory/blockSize, 1))}
	b.life, b.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if own, is := cfg.HTTPClient.(*awshttp.BuildableClient); is { // with the certificates of the environment, which loading added
		b.http = own.GetTransport()
		cfg.HTTPClient = &http.Client{
			Transport:     &watched{b.http, outage, o.Timeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	b.client = s3.NewFromConfig(cfg, func(c *s3.Options) {
		if o.Endpoint != "" {
			c.BaseEndpoint = aws.String(o.Endpoint)
		}
		c.UsePathStyle = o.PathStyle || c.BaseEndpoint != nil
		if c.Region == "" {
			c.Region = defaultRegion // stores other than AWS have none; AWS answers with the right one
		}
		c.DisableLogOutputChecksumValidationSkipped = true
		c.APIOptions = append(c.APIOptions, func(all *middleware.Stack) error {
			return all.Initialize.Add(middleware.InitializeMiddlewareFunc("Life", b.within), middleware.Before)
		})
	})
	return b, nil
}

// Store is where URLs of S3 lead, with settings of the environment. tell is called with lines on stores that do not answer; it may be nil.
func Store(tell func(text string)) blob.Store {
	return blob.Store{Scheme: "s3", Open: func(ctx context.Context, authority string) (blob.Bucket, error) {
		o, err := ParseURL(Scheme + authority)
		if err != nil {
			return nil, err
		}
		o.Tell = tell
		return New(ctx, o)
	}}
}

// defaultRegion is the region of requests when nobody names one.
const defaultRegion = "us-east-1"

// errClosed is why requests end when the bucket is closed.
var errClosed = fmt.Errorf("the bucket was closed: %w", context.Canceled)

// Close ends all requests, and makes all later ones fail: also those of objects and writers that are open, and those that would give back
// or remove something. What is not finished is found by Leftovers later.
func (b *Bucket) Close() error {
	b.end(errClosed)
	if b.http != nil {
		b.http.CloseIdleConnections()
	}
	return nil
}

// within ends a request with its bucket. What it answers may be read until it is closed.
func (b *Bucket) within(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, meta middleware.Metadata, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.life, func() { cancel(errClosed) })
	over := func() { stop(); cancel(nil) }
	out, meta, err = next.HandleInitialize(ctx, in)
	if got, is := out.Result.(*s3.GetObjectOutput); is && err == nil && got.Body != nil {
		got.Body = &body{got.Body, over}
	} else {
		over()
	}
	return out, meta, err
}

// body is what a request answers.
type body struct {
	io.ReadCloser
	over func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.over()
	return b.ReadCloser.Close()
}

// transport lets connections give up that do not move for a while, and buffers as much as large objects deserve.
func (o *Options) transport(t *http.Transport) {
	dialer := &net.Dialer{Timeout: min(o.Timeout, 10*time.Second), KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &patient{c, o.Timeout}, nil
	}
	t.ResponseHeaderTimeout = o.Timeout
	t.MaxIdleConnsPerHost = 64
	t.ReadBufferSize, t.WriteBufferSize = 128<<10, 128<<10
	t.DisableCompression = true
}

// patient is a connection on which each read and each write must move something within the time.
type patient struct {
	net.Conn
	limit time.Duration
}

func (c *patient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *patient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// key is where the object of a name lies; "" is the prefix of all, with its slash.
func (b *Bucket) key(name string) string {
	if b.opts.Prefix == "" {
		return name
	}
	return b.opts.Prefix + "/" + name
}

// name is the name of the object at a key; "" if that has none, like the objects "folder/" that some tools make.
func (b *Bucket) name(key string) string {
	name := strings.TrimPrefix(key, b.key(""))
	if checkName(name) != nil {
		return ""
	}
	return name
}

// url is how errors call a name.
func (b *Bucket) url(name string) string { return "s3://" + b.opts.Bucket + "/" + b.key(name) }

// tmpMark begins the elements of names of what is not finished.
const tmpMark = "_tmp."

// temporary reports whether the name has an element of what is not finished: nobody but its owner looks there.
func temporary(name string) bool {
	return strings.HasPrefix(name, tmpMark) || strings.Contains(name, "/"+tmpMark)
}

// beside is a temporary name next to a name.
func beside(name, what string) string {
	dir, base := path.Split(name)
	return dir + tmpMark + base + "." + what
}

// above are the trees that a name lies in, the outermost first, and the name itself at the end.
func above(name string) (all []string) {
	for i, c := range name {
		if c == '/' {
			all = append(all, name[:i])
		}
	}
	return append(all, name)
}

// checkName refuses what is no name.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) {
		return fmt.Errorf("blob: %q: %w", name, blob.ErrName)
	}
	return nil
}

// checkMove refuses names outside, and moves into what would be moved or replaced on the way.
func checkMove(from, to string) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	if strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/") {
		return fmt.Errorf("blob: publish %s as %s: one lies within the other", from, to)
	}
	return nil
}
