package s3test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

func answerXML(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	text, err := xml.Marshal(v)
	if err == nil {
		w.Write(text)
	}
}

// Answers that several requests share.
var (
	noKey     = failure{404, "NoSuchKey", "The specified key does not exist."}
	noUpload  = failure{404, "NoSuchUpload", "The specified multipart upload does not exist."}
	noBucket  = failure{404, "NoSuchBucket", "The specified bucket does not exist"}
	unmet     = failure{412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold"}
	noRange   = failure{416, "InvalidRange", "The requested range is not satisfiable"}
	badDigest = failure{400, "BadDigest", "The checksum you specified did not match the calculated checksum."}
	unknown   = failure{501, "NotImplemented", "A header or query you provided implies functionality that is not implemented."}
)

// do carries a request out.
func (s *Server) do(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", s.clock.Format(http.TimeFormat))
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	switch {
	case bucket != s.Bucket:
		noBucket.write(w)
	case !sound(r, body):
		badDigest.write(w)
	case key == "" && q.Get("list-type") == "2":
		s.list(w, q)
	case key == "" && q.Has("uploads"):
		s.listUploads(w, q)
	case key == "" && q.Has("delete"):
		s.deleteMany(w, body)
	case q.Has("uploads"):
		s.begin(w, r, key)
	case q.Has("uploadId"):
		s.upload(w, r, key, body)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.get(w, r, key)
	case r.Method == http.MethodPut:
		s.put(w, r, key, body)
	case r.Method == http.MethodDelete:
		if o, is := s.objects[key]; !s.Poor && r.Header.Get("If-Match") != "" && is && o.etag != r.Header.Get("If-Match") {
			unmet.write(w)
			return
		}
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		unknown.write(w)
	}
}

// met reports whether the conditions of a request hold for what it replaces.
func (s *Server) met(r *http.Request, key string) bool {
	o, is := s.objects[key]
	if etag := r.Header.Get("If-Match"); etag != "" && (!is || o.etag != etag) {
		return false
	}
	return r.Header.Get("If-None-Match") == "" || !is
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) {
	o, is := s.objects[key]
	if !is {
		noKey.write(w)
		return
	}
	if etag := r.Header.Get("If-Match"); etag != "" && etag != o.etag {
		unmet.write(w)
		return
	}
	h := w.Header()
	h.Set("ETag", o.etag)
	h.Set("Last-Modified", o.modified.Format(http.TimeFormat))
	maps.Copy(h, o.meta)
	data, status := o.data, http.StatusOK
	if of := r.Header.Get("Range"); of != "" {
		first, last, ok := cutRange(of, len(data))
		if !ok {
			noRange.write(w)
			return
		}
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
		data, status = data[first:last+1], http.StatusPartialContent
	}
	if r.Method == http.MethodHead {
		h.Set("Content-Length", itoa(len(data)))
		data = nil
	}
	w.WriteHeader(status)
	w.Write(data)
}

// cutRange reads "bytes=A-B".
func cutRange(text string, size int) (first, last int, ok bool) {
	a, b, _ := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	first, err := strconv.Atoi(a)
	last, lerr := strconv.Atoi(b)
	return first, min(last, size-1), err == nil && lerr == nil && first < size && first <= last
}

func digest(data []byte) string {
	sum := md5.Sum(data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// source is the object that a copy copies, or why not.
func (s *Server) source(r *http.Request) (o object, ok bool, f failure) {
	name, err := url.QueryUnescape(strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/")) // "+" is a blank, as in S3
	bucket, key, _ := strings.Cut(name, "/")
	o, is := s.objects[key]
	if err != nil || bucket != s.Bucket || !is {
		return o, false, noKey
	}
	if etag := r.Header.Get("X-Amz-Copy-Source-If-Match"); etag != "" && etag != o.etag {
		return o, false, unmet
	}
	if of := r.Header.Get("X-Amz-Copy-Source-Range"); of != "" {
		first, last, ok := cutRange(of, len(o.data))
		if !ok {
			return o, false, noRange
		}
		o.data = o.data[first : last+1]
	}
	return o, true, f
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	copies := r.Header.Get("X-Amz-Copy-Source") != ""
	if !(s.Poor && copies) && !s.met(r, key) {
		unmet.write(w)
		return
	}
	o := object{data: body, etag: digest(body), modified: s.clock, meta: meta(r)}
	if copies {
		from, ok, f := s.source(r)
		if !ok {
			f.write(w)
			return
		}
		o.data, o.etag, o.meta = from.data, digest(from.data), from.meta
	}
	s.objects[key] = o
	w.Header().Set("ETag", o.etag)
	if copies {
		answerXML(w, 200, struct {
			XMLName struct{} `xml:"CopyObjectResult"`
			ETag    string
		}{ETag: o.etag})
	}
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request, key string) {
	s.made++
	id := fmt.Sprintf("u%d", s.made)
	s.uploads[id] = &upload{key: key, begun: s.clock, meta: meta(r), parts: map[int]object{}}
	answerXML(w, 200, struct {
		XMLName  struct{} `xml:"InitiateMultipartUploadResult"`
		UploadId string
	}{UploadId: id})
}

// upload takes a part, completes or aborts.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	id := r.URL.Query().Get("uploadId")
	u := s.uploads[id]
	if u == nil || u.key != key {
		noUpload.write(w)
		return
	}
	switch r.Method {
	case http.MethodPut:
		part := object{data: body}
		copies := r.Header.Get("X-Amz-Copy-Source") != ""
		if copies {
			from, ok, f := s.source(r)
			if !ok {
				f.write(w)
				return
			}
			part = from
		}
		part.etag = digest(part.data)
		n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		u.parts[n] = part
		w.Header().Set("ETag", part.etag)
		if copies {
			answerXML(w, 200, struct {
				XMLName struct{} `xml:"CopyPartResult"`
				ETag    string
			}{ETag: part.etag})
		}
	case http.MethodPost:
		s.complete(w, r, id, u, body)
	default:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, id string, u *upload, body []byte) {
	var asked struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if xml.Unmarshal(body, &asked) != nil || len(asked.Part) == 0 {
		failure{400, "MalformedXML", "The XML you provided was not well-formed."}.write(w)
		return
	}
	if !s.met(r, u.key) {
		unmet.write(w)
		return
	}
	o := object{modified: s.clock, meta: u.meta}
	var sums []byte
	for _, p := range asked.Part {
		part, is := u.parts[p.PartNumber]
		if !is || part.etag != p.ETag {
			failure{400, "InvalidPart", "One or more of the specified parts could not be found."}.write(w)
			return
		}
		o.data, sums = append(o.data, part.data...), append(sums, part.etag...)
	}
	o.etag = strings.TrimSuffix(digest(sums), `"`) + fmt.Sprintf(`-%d"`, len(asked.Part))
	s.objects[u.key] = o
	delete(s.uploads, id)
	answerXML(w, 200, struct {
		XMLName struct{} `xml:"CompleteMultipartUploadResult"`
		ETag    string
	}{ETag: o.etag})
}

func (s *Server) sorted() []string { return slices.Sorted(maps.Keys(s.objects)) }

type listedObject struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
}

type listing struct {
	XMLName               struct{} `xml:"ListBucketResult"`
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listedObject
	CommonPrefixes        []struct{ Prefix string }
}

func (s *Server) list(w http.ResponseWriter, q url.Values) {
	out := listing{EncodingType: q.Get("encoding-type")}
	name := func(key string) string {
		if out.EncodingType == "url" {
			return url.QueryEscape(key)
		}
		return key
	}
	page := s.Page
	if page == 0 {
		page = 1000
	}
	prefix, delimiter, after := q.Get("prefix"), q.Get("delimiter"), q.Get("continuation-token")
	n, last := 0, ""
	for _, key := range s.sorted() {
		shown := key
		if i := strings.Index(strings.TrimPrefix(key, prefix), delimiter); delimiter != "" && strings.HasPrefix(key, prefix) && i >= 0 {
			shown = key[:len(prefix)+i+len(delimiter)]
		}
		if !strings.HasPrefix(key, prefix) || shown <= after || shown == last {
			continue
		}
		if n == page {
			out.IsTruncated, out.NextContinuationToken = true, last
			break
		}
		n, last = n+1, shown
		if shown != key || strings.HasSuffix(shown, delimiter) && delimiter != "" {
			out.CommonPrefixes = append(out.CommonPrefixes, struct{ Prefix string }{name(shown)})
			continue
		}
		o := s.objects[key]
		out.Contents = append(out.Contents, listedObject{name(key), o.modified.Format(time.RFC3339Nano), o.etag, len(o.data)})
	}
	answerXML(w, 200, out)
}

func (s *Server) listUploads(w http.ResponseWriter, q url.Values) {
	type listed struct{ Key, UploadId, Initiated string }
	var out struct {
		XMLName struct{} `xml:"ListMultipartUploadsResult"`
		Upload  []listed
	}
	for id, u := range s.uploads {
		if strings.HasPrefix(u.key, q.Get("prefix")) {
			out.Upload = append(out.Upload, listed{u.key, id, u.begun.Format(time.RFC3339Nano)})
		}
	}
	answerXML(w, 200, out)
}

func (s *Server) deleteMany(w http.ResponseWriter, body []byte) {
	var asked struct{ Object []struct{ Key string } }
	if xml.Unmarshal(body, &asked) != nil {
		failure{400, "MalformedXML", "The XML you provided was not well-formed."}.write(w)
		return
	}
	for _, o := range asked.Object {
		delete(s.objects, o.Key)
	}
	answerXML(w, 200, struct {
		XMLName struct{} `xml:"DeleteResult"`
	}{})
}
