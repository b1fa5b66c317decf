package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"thole.example/blob"
)

// What a store refuses, beside fs.ErrNotExist, fs.ErrPermission and blob.ErrChanged.
var (
	// ErrBucket says that the bucket is not there. It is no fs.ErrNotExist: to a writer, that would be a name that is free.
	ErrBucket = errors.New("no such bucket")
	// ErrCredentials says that there are no credentials, or that the store does not know or no longer takes them.
	ErrCredentials = errors.New("credentials refused")
	// ErrRegion says that the bucket is in another region than the one that was asked.
	ErrRegion = errors.New("the bucket is in another region")
	// ErrClock says that the clock of this machine is too far from that of the store.
	ErrClock = errors.New("the clock of this machine is wrong")
	// ErrBusy says that the store still asked for patience at the last attempt, or failed by itself. A later attempt may succeed.
	ErrBusy = blob.Unavailable("the store is busy or out of order")
	// ErrUnreachable says that no answer came. A later attempt may succeed.
	ErrUnreachable = blob.Unavailable("the store does not answer")
	// ErrMarker says that what tells where a tree is while it is published cannot be read, or is not what it should be.
	ErrMarker = errors.New("damaged note of a publish")
)

// kinds says what the codes of answers mean, and what to do.
var kinds = []struct {
	codes  string // separated by blanks
	kind   error
	advice string
}{
	{"NoSuchKey NotFound", fs.ErrNotExist, ""},
	{"NoSuchUpload", blob.ErrChanged, "its unfinished upload was removed by somebody; write it again"},
	{"NoSuchBucket", ErrBucket, "check its name and the endpoint, or make it"},
	{"PreconditionFailed ConditionalRequestConflict 412 409", blob.ErrChanged, ""},
	{"ExpiredToken ExpiredTokenException TokenRefreshRequired RequestExpired", ErrCredentials, "they have expired: get new ones"},
	{"InvalidAccessKeyId SignatureDoesNotMatch InvalidToken InvalidClientTokenId UnrecognizedClientException AuthFailure " +
		"XAdminUserNotFound XAdminNoSuchUser NoSuchAccessKey", // the last ones are versitygw's and MinIO's
		ErrCredentials, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"},
	{"AccessDenied Forbidden AllAccessDisabled AccountProblem 403 401", fs.ErrPermission,
		"check that the policies of the bucket and of these credentials allow s3:GetObject, PutObject, DeleteObject, ListBucket here"},
	{"PermanentRedirect TemporaryRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException 301 307", ErrRegion,
		"set AWS_REGION, or region= in the address"},
	{"RequestTimeTooSkewed", ErrClock, "set it, for instance by NTP"},
	{"SlowDown Throttling ThrottlingException RequestLimitExceeded TooManyRequests ServiceUnavailable InternalError RequestTimeout " +
		"500 502 503 504 429", ErrBusy, "try again later, or with fewer requests at once (concurrency= in the address)"},
}

// Error is what the store refused, or why it was not heard. Its kind can be asked for with errors.Is.
type Error struct {
	Op     string // what was to be done
	Object string // the address of the object or tree
	Kind   error  // fs.ErrNotExist, fs.ErrPermission, blob.ErrChanged or one of this package; nil if it is none of these
	Advice string // what to do
	Err    error  // what the store said, or the network
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("blob: %s %s: ", e.Op, e.Object)
	if e.Kind == nil {
		return text + said(e.Err)
	}
	text += e.Kind.Error()
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	if e.Err != nil && !errors.Is(e.Kind, fs.ErrNotExist) {
		text += " (" + said(e.Err) + ")"
	}
	return text
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// said is what the store said, without how it was asked.
func said(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ")
	}
	var sent *smithyhttp.RequestSendError
	if errors.As(err, &sent) {
		return sent.Err.Error()
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// fails makes an error of a request speak of the name, and says what kind it is.
func (b *Bucket) fails(op, name string, err error) error {
	var done *Error
	if err == nil || errors.As(err, &done) {
		return err
	}
	e := &Error{Op: op, Object: b.url(name), Err: err}
	var sent *smithyhttp.RequestSendError // also of a connection that does not move, which is a deadline of its own
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &sent) {
		return e
	}
	var code string
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var answer *awshttp.ResponseError
	status := ""
	if errors.As(err, &answer) && answered(err) != 0 {
		status = fmt.Sprint(answered(err))
	}
	for _, look := range []string{code, status} {
		for _, k := range kinds {
			if e.Kind == nil && look != "" && strings.Contains(" "+k.codes+" ", " "+look+" ") {
				e.Kind, e.Advice = k.kind, k.advice
			}
		}
	}
	if e.Kind == ErrRegion && answer.HTTPResponse().Header.Get("X-Amz-Bucket-Region") != "" {
		e.Advice = "it is in " + answer.HTTPResponse().Header.Get("X-Amz-Bucket-Region") + ": " + e.Advice
	}
	if e.Kind == nil {
		e.Kind, e.Advice = unheard(err)
	}
	return e
}

// unheard says why a request got no answer.
func unheard(err error) (kind error, advice string) {
	var network net.Error
	var sent *smithyhttp.RequestSendError
	switch text := err.Error(); {
	case strings.Contains(text, "get credentials") || strings.Contains(text, "refresh cached credentials") ||
		strings.Contains(text, "get identity"):
		return ErrCredentials, "none were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	case errors.As(err, &network) || errors.As(err, &sent) || cut(err):
		return ErrUnreachable, "check the endpoint and the network"
	}
	return nil, ""
}

// answered is the status of the answer that an error is of; 0 if there was none.
func answered(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.HTTPStatusCode()
	}
	return 0
}

// missing reports that there is no such object. Stores answer 404 for other reasons, too, such as a bucket or an access key that they do
// not know, and say so: only an answer with that code counts, and that to a HEAD, which cannot have a body.
func missing(err error) bool {
	var api smithy.APIError
	return answered(err) == http.StatusNotFound && errors.As(err, &api) && (api.ErrorCode() == "NoSuchKey" || api.ErrorCode() == "NotFound")
}

// noUpload reports that there is no such unfinished upload.
func noUpload(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "NoSuchUpload"
}

// refused reports that a condition of a request was not met.
func refused(err error) bool {
	s := answered(err)
	return s == http.StatusPreconditionFailed || s == http.StatusConflict
}

// hidden reports that these credentials may not see whether there is such an object.
func hidden(err error) bool {
	var api smithy.APIError
	return answered(err) == http.StatusForbidden &&
		(!errors.As(err, &api) || api.ErrorCode() == "AccessDenied" || api.ErrorCode() == "Forbidden")
}

// absent is the error of a name at which there is nothing.
func (b *Bucket) absent(op, name string) error {
	return fmt.Errorf("blob: %w", &fs.PathError{Op: op, Path: b.url(name), Err: fs.ErrNotExist})
}

// changed is the error of a name at which something else lies than over said.
func (b *Bucket) changed(name string, over blob.State) error {
	if over == blob.Nothing {
		return fmt.Errorf("blob: %s is there now, and was not before: %w", b.url(name), blob.ErrChanged)
	}
	return fmt.Errorf("blob: %s is not what it was when it was to be replaced: %w", b.url(name), blob.ErrChanged)
}
