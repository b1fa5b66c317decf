package s3_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/blob/s3"
	"thole.example/blob/s3/s3test"
)

// noise is bytes that repeat nowhere.
func noise(n int) []byte {
	data := make([]byte, 0, n+8)
	for i := uint64(1); len(data) < n; i++ {
		data = binary.LittleEndian.AppendUint64(data, i*0x9e3779b97f4a7c15)
	}
	return data[:n]
}

// faults are how a request of each kind is answered that fails once in a while.
var faults = []s3test.Action{s3test.SlowDown, s3test.InternalError, s3test.Cut, s3test.Lost, s3test.Half}

// TestRead reads a large object in every way, over a store that fails every fifth time: in order in small and large pieces, at random, by
// many at once, and with less memory than they would like.
func TestRead(t *testing.T) {
	s := serve(t)
	data := noise(25<<20 + 12345)
	if err := blob.WriteAll(t.Context(), open(t, s, nil), "big", data); err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{0, 1} {
		b := open(t, s, func(o *s3.Options) { o.Memory = memory })
		s.Plan(s3test.Random(uint64(memory), 0.2, faults...))
		o, err := b.Open(t.Context(), "big")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i, piece := range []int{100_000, 18 << 20} {
			all.Go(func() { // in order
				got, err := io.ReadAll(io.NewSectionReader(readsOf{o, piece}, 0, o.Size()))
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("in pieces of %d: %d bytes, %v", piece, len(got), err)
				}
			})
			all.Go(func() {
				from := rand.New(rand.NewPCG(uint64(i), 2))
				for range 20 {
					off := from.IntN(len(data))
					p := make([]byte, from.IntN(piece))
					n, err := o.ReadAt(p, int64(off))
					want := data[off:min(off+len(p), len(data))]
					if !bytes.Equal(p[:n], want) || (n < len(p)) != (err == io.EOF) {
						t.Errorf("%d bytes at %d: %d, %v", len(p), off, n, err)
					}
				}
			})
		}
		all.Wait()
		s.Plan(nil)
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		if _, err := o.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	}
}

// readsOf reads in pieces of a size.
type readsOf struct {
	io.ReaderAt
	piece int
}

func (r readsOf) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.ReaderAt.ReadAt(p[n:min(n+r.piece, len(p))], off+int64(n))
		n += more
	}
	return n, err
}

// TestReplacedWhileOpen: an object that is replaced or removed while it is read fails, and gives no bytes of another one.
func TestReplacedWhileOpen(t *testing.T) {
	for what, change := range map[string]func(b *s3.Bucket) error{
		"replaced": func(b *s3.Bucket) error { return blob.WriteAll(t.Context(), b, "x", make([]byte, 3<<20)) },
		"smaller":  func(b *s3.Bucket) error { return blob.WriteAll(t.Context(), b, "x", []byte("x")) },
		"removed":  func(b *s3.Bucket) error { return b.Remove(t.Context(), "x") },
	} {
		t.Run(what, func(t *testing.T) {
			b := open(t, serve(t), nil)
			data := noise(3 << 20)
			if err := blob.WriteAll(t.Context(), b, "x", data); err != nil {
				t.Fatal(err)
			}
			o, err := b.Open(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if err := change(b); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 3<<20)
			if n, err := o.ReadAt(p, 0); !errors.Is(err, blob.ErrChanged) || !bytes.Equal(p[:n], data[:n]) {
				t.Errorf("%d bytes, %v, want that it has changed", n, err)
			}
		})
	}
}

// TestReplacedWhileOpening: the first answer breaks off in the middle, and the object is replaced before the rest is asked for. Nothing
// was given to the reader yet: it gets the new one.
func TestReplacedWhileOpening(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	write(t, b, map[string]string{"x": "the old object"})
	gets := 0
	s.Plan(func(_ int, r *http.Request) s3test.Action {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/x") {
			return s3test.Pass
		}
		switch gets++; gets {
		case 1:
			return s3test.Half
		case 2:
			write(t, b, map[string]string{"x": "the new object"})
		}
		return s3test.Pass
	})
	if data, err := blob.ReadAll(t.Context(), b, "x", 100); err != nil || string(data) != "the new object" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestRequests counts what the package says that things cost.
func TestRequests(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	write(t, b, map[string]string{"a/b/c": "x", "_tmp.s/x": "y", "empty": ""})
	for _, c := range []struct {
		name string
		do   func() error
		most int
	}{
		{"open a small object", func() error { _, err := blob.ReadAll(t.Context(), b, "a/b/c", 10); return err }, 6},
		{"open a small object of a stage", func() error { _, err := blob.ReadAll(t.Context(), b, "_tmp.s/x", 10); return err }, 1},
		{"open an empty object", func() error { _, err := blob.ReadAll(t.Context(), b, "empty", 10); return err }, 5},
		{"write a small object", func() error { return blob.WriteAll(t.Context(), b, "a/b/c", []byte("z")) }, 9},
		{"write a small object of a stage", func() error { return blob.WriteAll(t.Context(), b, "_tmp.s/x", []byte("z")) }, 2},
		{"list", func() error { _, err := b.List(t.Context(), "a/b"); return err }, 6},
	} {
		s.Plan(nil)
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if log := s.Log(); len(log) > c.most {
			t.Errorf("%s: %d requests, want at most %d:\n%s", c.name, len(log), c.most, strings.Join(log, "\n"))
		}
	}
}

// TestWriter writes in any order across parts, over a store that fails every tenth time; what is read back is what was written, and no
// unfinished upload remains.
func TestWriter(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	rapid.Check(t, func(t *rapid.T) {
		s.Plan(s3test.Random(rapid.Uint64().Draw(t, "seed"), 0.1, faults...))
		defer s.Plan(nil)
		w, err := b.Create(context.Background(), "x")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		var want []byte
		pos := 0
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			p := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.SampledFrom([]int{0, 1, 1000, 1 << 15, 1 << 16, 1<<17 + 1}).Draw(t, "size"))
			at, appended := pos, rapid.Bool().Draw(t, "append")
			if !appended {
				at = rapid.IntRange(0, 1<<18).Draw(t, "at")
			}
			if need := at + len(p); len(p) > 0 && need > len(want) {
				want = append(want, make([]byte, need-len(want))...)
			}
			copy(want[min(at, len(want)):], p)
			if appended {
				_, err = w.Write(p)
				pos += len(p)
			} else {
				_, err = w.WriteAt(p, int64(at))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "abort") {
			w.Abort()
		} else if err := w.Commit(); err != nil {
			t.Fatal(err)
		} else if got, err := blob.ReadAll(context.Background(), b, "x", 1<<30); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v, want %d", len(got), err, len(want))
		}
		if i := slices.IndexFunc(s.Keys(), func(k string) bool { return strings.Contains(k, "uploadId") }); i >= 0 && len(s.Keys()) > 40 {
			t.Fatalf("%q remain", s.Keys())
		}
	})
}

// TestPartsGoEarly: parts are with the store while the next are written, and an aborted object leaves none.
func TestPartsGoEarly(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	w, err := b.Create(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	data := noise(150 << 10)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	sent := func() (n int) {
		for _, line := range s.Log() {
			if strings.Contains(line, "partNumber=") {
				n++
			}
		}
		return n
	}
	for sent() < 2 { // the test would not end if they came only with Commit
		time.Sleep(time.Millisecond)
	}
	if _, err := w.WriteAt([]byte("changed"), 100); err != nil {
		t.Fatal(err)
	}
	copy(data[100:], "changed")
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := blob.ReadAll(t.Context(), b, "x", 1<<30); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v: the part that was changed is the old one", len(got), err)
	}
	if n := sent(); n < 4 {
		t.Errorf("%d parts sent, want 3 and one again", n)
	}
}

// TestStoreDies: a store that dies in the middle for good fails what is read and written, and shows nothing that was not committed.
func TestStoreDies(t *testing.T) {
	for n, done := 0, false; !done; n++ {
		s := serve(t)
		b := open(t, s, func(o *s3.Options) { o.Attempts = 3 })
		if err := blob.WriteAll(t.Context(), b, "x", []byte("old")); err != nil {
			t.Fatal(err)
		}
		s.Plan(s3test.After(n, s3test.Cut))
		err := blob.WriteAll(t.Context(), b, "x", noise(200<<10))
		done = err == nil
		if !done && (!errors.Is(err, s3.ErrUnreachable) || !strings.Contains(err.Error(), "s3://store/some/where/x")) || n > 20 {
			t.Errorf("dead from request %d on: %v, want that the store does not answer", n, err)
		}
		if _, err := b.Open(t.Context(), "x"); !errors.Is(err, s3.ErrUnreachable) {
			t.Errorf("open: %v", err)
		}
		s.Plan(nil)
		if infos, err := b.List(t.Context(), "x"); err != nil || len(infos) != 1 || (infos[0].Size == 3) == done {
			t.Errorf("dead from request %d on: %v, %v is visible; committed: %t", n, infos, err, done)
		}
	}
}

// TestStall: a connection on which nothing moves is given up.
func TestStall(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Attempts, o.Timeout = 2, 50*time.Millisecond })
	s.Plan(s3test.After(0, s3test.Slow))
	if _, err := b.Open(t.Context(), "x"); !errors.Is(err, s3.ErrUnreachable) {
		t.Errorf("%v, want that the store does not answer", err)
	}
}

// TestErrors says of each refusal what it is and what to do.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		action s3test.Action
		kind   error
		say    string
	}{
		{s3test.Forbidden, fs.ErrPermission, "policies"},
		{s3test.Expired, s3.ErrCredentials, "expired"},
		{s3test.BadKey, s3.ErrCredentials, "AWS_ACCESS_KEY_ID"},
		{s3test.Skewed, s3.ErrClock, "NTP"},
		{s3test.Elsewhere, s3.ErrRegion, "eu-north-1"},
		{s3test.SlowDown, s3.ErrBusy, "later"},
		{s3test.InternalError, s3.ErrBusy, "later"},
		{s3test.Cut, s3.ErrUnreachable, "network"},
		{s3test.Half, s3.ErrUnreachable, "network"},
	} {
		s := serve(t)
		b := open(t, s, func(o *s3.Options) { o.Attempts = 2 })
		if err := blob.WriteAll(t.Context(), b, "a/x", noise(3<<20)); err != nil {
			t.Fatal(err)
		}
		s.Plan(s3test.After(0, c.action))
		for what, err := range map[string]error{
			"open":    second(b.Open(t.Context(), "a/x")),
			"list":    second(b.List(t.Context(), "a")),
			"write":   blob.WriteAll(t.Context(), b, "a/y", []byte("y")),
			"publish": b.Publish(t.Context(), "a/x", "a/y", blob.Nothing),
			"claim": func() error {
				release, err := b.Claim(t.Context(), "a", "me")
				if err == nil {
					release()
				}
				return err
			}(),
		} {
			if c.action == s3test.Half && what != "open" && what != "list" {
				continue // only answers to GET are cut
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), "s3://store/some/where/a") {
				t.Errorf("%v: %s: %v, want %v that says %q", c.action, what, err, c.kind, c.say)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v: %s: %v, which looks like a free name", c.action, what, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestNoBucket: a bucket that is missing is no free name; without credentials that is said.
func TestNoBucket(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Bucket = "another" })
	for what, err := range map[string]error{
		"open": second(b.Open(t.Context(), "x")), "list": second(b.List(t.Context(), "")), "create": second(b.Create(t.Context(), "x")),
		"state": second(b.State(t.Context(), "x")), "remove": b.Remove(t.Context(), "x"),
	} {
		if !errors.Is(err, s3.ErrBucket) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3://another/") {
			t.Errorf("%s: %v, want that the bucket is missing", what, err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := open(t, s, nil).Open(t.Context(), "x"); !errors.Is(err, s3.ErrCredentials) {
		t.Errorf("%v, want that there are no credentials", err)
	}
	s.Plan(func(int, *http.Request) s3test.Action { return s3test.Pass })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Open(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestReaderWithoutRights: who may read objects and nothing else reads a tree; notes that he may not see count as none.
func TestReaderWithoutRights(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	write(t, b, map[string]string{"m/a": "a"})
	s.Plan(func(_ int, r *http.Request) s3test.Action {
		if strings.Contains(r.URL.Path, "_tmp.") {
			return s3test.Forbidden
		}
		return s3test.Pass
	})
	if got := contents(t, b, "m"); got != "a=a" {
		t.Error(got)
	}
}

// TestClaim: one at a time has a tree; the claim of a process that was killed ends when it was not renewed for the time of a lease.
func TestClaim(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Lease = time.Hour })
	release, err := b.Claim(t.Context(), "out/ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Claim(t.Context(), "out/ck", "job b")
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job a" {
		t.Errorf("%v, want that job a has it", err)
	}
	s.Advance(time.Hour + time.Second)
	taken, err := b.Claim(t.Context(), "out/ck", "job b")
	if err != nil {
		t.Fatal(err)
	}
	release() // it is another's
	_, err = b.Claim(t.Context(), "out/ck", "job c")
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job b" {
		t.Errorf("%v, want that job b has it", err)
	}
	taken()
	taken()
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("%q remain", keys)
	}
}

// TestClaimIsRenewed: a claim that is held stands for as long as it is.
func TestClaimIsRenewed(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Lease = 60 * time.Millisecond })
	s.Plan(nil)
	release, err := b.Claim(t.Context(), "ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	for renewed := 0; renewed < 4; {
		renewed = len(s.Log())
		time.Sleep(time.Millisecond)
	}
	release()
	if keys := s.Keys(); len(keys) != 0 {
		t.Errorf("%q remain of a claim that was renewed and released", keys)
	}
}

// TestSweep removes what nobody holds, and uploads and objects that are old; what is held or young stays.
func TestSweep(t *testing.T) {
	s := serve(t)
	b := open(t, s, func(o *s3.Options) { o.Lease = time.Hour })
	write(t, b, map[string]string{"at/m/x": "", "at/_tmp.m.free/x": "", "at/_tmp.m.mine/x": "", "at/_tmp.m.object": "", "at/_tmp.mm.1/x": ""})
	one, err := b.Hold(t.Context(), "at/_tmp.m.mine")
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.Hold(t.Context(), "at/_tmp.m.mine")
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Create(t.Context(), "at/m/big")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(fmt.Sprint(s.Keys()), "uploadId") {
		time.Sleep(time.Millisecond)
	}
	sweep := func(want ...string) {
		t.Helper()
		left, err := b.Leftovers(t.Context(), "at/m")
		swept, serr := b.Sweep(t.Context(), "at/m")
		if err != nil || serr != nil || !slices.Equal(left, swept) || !slices.Equal(swept, want) {
			t.Errorf("left %q, %v; swept %q, %v; want %q", left, err, swept, serr, want)
		}
	}
	sweep("at/_tmp.m.free")
	one()
	sweep()
	left, err := b.Claim(t.Context(), "at/m.lock", "a training that is killed")
	if err != nil {
		t.Fatal(err)
	}
	defer left()
	sweep()
	if names, err := b.Unfinished(t.Context(), "at"); err != nil || !slices.Equal(names, []string{"m.lock.claim", "m.mine", "m.object", "mm.1", "m.u1"}) {
		t.Errorf("unfinished: %q, %v", names, err)
	}
	s.Advance(time.Hour + time.Second) // the process ended
	sweep("at/_tmp.m.lock.claim", "at/_tmp.m.mine")
	two()
	s.Advance(24 * time.Hour)
	sweep("at/_tmp.m.object", "at/m/big?uploadId=u1")
	if keys := s.Keys(); !slices.Equal(keys, []string{"some/where/at/_tmp.mm.1/x", "some/where/at/m/x"}) {
		t.Errorf("%q remain", keys)
	}
}

// TestUnknownKey: a 404 that does not speak of the object is no absent object: the credentials are wrong.
func TestUnknownKey(t *testing.T) {
	s := serve(t)
	b := open(t, s, nil)
	write(t, b, map[string]string{"x": "x"})
	s.Plan(s3test.After(0, s3test.Absent))
	claim := func() error { _, err := b.Claim(t.Context(), "m", "me"); return err }
	for name, do := range map[string]func() error{
		"open":   func() error { _, err := b.Open(t.Context(), "x"); return err },
		"list":   func() error { _, err := b.List(t.Context(), "."); return err },
		"write":  func() error { return blob.WriteAll(t.Context(), b, "y", []byte("y")) },
		"state":  func() error { _, err := b.State(t.Context(), "x"); return err },
		"remove": func() error { return b.Remove(t.Context(), "x") },
		"claim":  claim,
	} {
		if err := do(); errors.Is(err, fs.ErrNotExist) || !errors.Is(err, s3.ErrCredentials) || !strings.Contains(err.Error(), "XAdminUserNotFound") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
