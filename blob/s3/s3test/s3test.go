// Package s3test is a small S3 server in the process of a test: objects, ranges, listings in pages, uploads in parts, copies, deletions
// and the conditions of all of these, with a clock of its own and with faults on demand. It does not check signatures.
package s3test

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Action is what happens to a request.
type Action int

// The actions. A request that is Lost has been carried out, but its answer does not arrive; one that is Cut has not been. Half sends the
// first half of an answer's body, and Stall does, too, with nothing after it until the server is closed. Slow is a connection on which
// nothing moves until then. Absent is an answer of 404 for another reason than an absent object.
const (
	Pass Action = iota
	Cut
	Lost
	Half
	Stall
	Slow
	Absent
	SlowDown
	InternalError
	Forbidden
	Expired
	BadKey
	Skewed
	Elsewhere
)

// refusals are the answers of actions that are errors.
var refusals = map[Action]failure{
	Absent:        {404, "XAdminUserNotFound", "The specified user does not exist."},
	SlowDown:      {503, "SlowDown", "Please reduce your request rate."},
	InternalError: {500, "InternalError", "We encountered an internal error. Please try again."},
	Forbidden:     {403, "AccessDenied", "Access Denied"},
	Expired:       {400, "ExpiredToken", "The provided token has expired."},
	BadKey:        {403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."},
	Skewed:        {403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."},
	Elsewhere:     {301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint."},
}

// Server is the store. Its fields may be set before the first request.
type Server struct {
	URL    string
	Bucket string // the only one that there is
	Page   int    // keys in one page of a listing; 0 is 1,000
	Poor   bool   // no conditions where it copies and deletes, like some stores

	http    *httptest.Server
	end     chan struct{}
	mu      sync.Mutex
	objects map[string]object
	uploads map[string]*upload
	clock   time.Time
	made    int // uploads so far
	count   int // requests so far
	plan    func(n int, r *http.Request) Action
	log     []string
}

type object struct {
	data     []byte
	etag     string
	modified time.Time
	meta     http.Header
}

type upload struct {
	key   string
	begun time.Time
	meta  http.Header
	parts map[int]object
}

// New starts a server with an empty bucket.
func New(bucket string) *Server {
	s := &Server{
		Bucket: bucket, end: make(chan struct{}), objects: map[string]object{}, uploads: map[string]*upload{},
		clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close ends the server.
func (s *Server) Close() {
	close(s.end)
	s.http.Close()
}

// Plan asks plan what happens to each request from now on, the first of which has number 0; nil lets all pass. plan may be called by
// several requests at once, and may itself use the store.
func (s *Server) Plan(plan func(n int, r *http.Request) Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.count, s.log = plan, 0, nil
}

// Advance lets time pass.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(d)
}

// Log is every request since the last Plan: method, path and query.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// Keys are those of all objects, and of all unfinished uploads as KEY?uploadId=ID, sorted.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.sorted()
	for id, u := range s.uploads {
		keys = append(keys, u.key+"?uploadId="+id)
	}
	return keys
}

// Random is a plan by which a share of the requests meets one of the actions.
func Random(seed uint64, share float64, actions ...Action) func(n int, r *http.Request) Action {
	var mu sync.Mutex
	from := rand.New(rand.NewPCG(seed, 1))
	return func(int, *http.Request) Action {
		mu.Lock()
		defer mu.Unlock()
		if from.Float64() >= share {
			return Pass
		}
		return actions[from.IntN(len(actions))]
	}
}

// After is a plan by which all requests from number n on meet the action.
func After(n int, action Action) func(n int, r *http.Request) Action {
	return func(i int, _ *http.Request) Action {
		if i >= n {
			return action
		}
		return Pass
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	action := s.next(r)
	if err != nil || action == Cut {
		hangUp(w)
		return
	}
	answer := httptest.NewRecorder()
	switch refusal, is := refusals[action]; {
	case action == Slow:
		<-s.end
		hangUp(w)
		return
	case is:
		refusal.write(answer)
		answer.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
	default:
		s.do(answer, r, body)
	}
	if action == Lost {
		hangUp(w)
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	if r.Method != http.MethodHead || answer.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", itoa(answer.Body.Len()))
	}
	w.WriteHeader(answer.Code)
	text := answer.Body.Bytes()
	if action == Half && r.Method == http.MethodGet && len(text) > 1 {
		w.Write(text[:len(text)/2])
		hangUp(w)
		return
	}
	if action == Stall && r.Method == http.MethodGet && len(text) > 1 {
		w.Write(text[:len(text)/2])
		http.NewResponseController(w).Flush()
		<-s.end
		hangUp(w)
		return
	}
	if r.Method != http.MethodHead {
		w.Write(text)
	}
}

func (s *Server) next(r *http.Request) Action {
	s.mu.Lock()
	n, plan := s.count, s.plan
	s.count++
	s.clock = s.clock.Add(time.Millisecond)
	s.log = append(s.log, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	if plan == nil {
		return Pass
	}
	return plan(n, r)
}

// hangUp closes the connection.
func hangUp(w http.ResponseWriter) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	buf.Flush()
	conn.Close()
}

// failure is an error as the store answers it.
type failure struct {
	status        int
	code, message string
}

func (f failure) write(w http.ResponseWriter) {
	answerXML(w, f.status, struct {
		XMLName struct{} `xml:"Error"`
		Code    string
		Message string
	}{Code: f.code, Message: f.message})
}

// sound reports whether the checksum of a body that came with it is right.
func sound(r *http.Request, body []byte) bool {
	want := r.Header.Get("X-Amz-Checksum-Crc32c")
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	return want == "" || want == base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// meta is the metadata that a request gives to its object.
func meta(r *http.Request) http.Header {
	found := http.Header{}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			found[name] = values
		}
	}
	return found
}
