package hdfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"thole.example/blob"
)

// noise is bytes that no two places share.
func noise(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(p)
	return p
}

// write makes an object of that content.
func write(t testing.TB, b blob.Bucket, name string, data []byte) {
	t.Helper()
	if err := blob.WriteAll(t.Context(), b, name, data); err != nil {
		t.Fatal(err)
	}
}

// wantBytes holds an object to a content.
func wantBytes(t *testing.T, b blob.Bucket, name string, want []byte) {
	t.Helper()
	if got, err := blob.ReadAll(t.Context(), b, name, 1<<30); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, equal: %t, %v, want %d", name, len(got), bytes.Equal(got, want), err, len(want))
	}
}

// wantEntries holds a folder to what is in it, temporary names included.
func wantEntries(t *testing.T, b *Bucket, dir, want string) {
	t.Helper()
	entries, err := b.entries(t.Context(), dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want || err != nil {
		t.Errorf("in %s: %q, %v, want %q", dir, got, err, want)
	}
}

// TestFaults breaks parts of one cluster after each other.
func TestFaults(t *testing.T) {
	leakless(t)
	c := start(t, 3, 1)
	for _, f := range []struct {
		name string
		test func(t *testing.T, c *cluster)
	}{
		{"datanodes stop while an object is read", datanodesStopInRead}, {"a datanode stops while an object is written", datanodeStopsInWrite},
		{"the namenode starts again", namenodeStarts}, {"safe mode", safeMode}, {"no permission", noPermission}, {"quotas", quotas},
		{"erasure coded", erasureCoded}, {"an answer is lost", answerIsLost}, {"no datanode", noDatanode},
	} {
		t.Run(f.name, func(t *testing.T) { c.t = t; f.test(t, c) })
	}
}

// patient is a bucket of the cluster that has so much patience.
func (c *cluster) patient(t testing.TB, patience time.Duration, change ...func(*Options)) *Bucket {
	t.Helper()
	o := options(t, c.addresses)
	o.Patience = patience
	for _, set := range change {
		set(&o)
	}
	return open(t, o)
}

func datanodesStopInRead(t *testing.T, c *cluster) {
	b := c.patient(t, time.Minute, func(o *Options) { o.Replication = 3 })
	data := noise(40 << 20) // 5 blocks
	write(t, b, "x", data)
	o, err := b.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var got []byte
	for buf := make([]byte, 1<<20); len(got) < len(data); {
		switch len(got) >> 20 {
		case 3, 20: // in the middle of a block; one datanode is left in the end
			c.ask("stop-datanode")
		}
		n, err := o.ReadAt(buf, int64(len(got)))
		if got = append(got, buf[:n]...); err != nil && err != io.EOF {
			t.Fatalf("at byte %d: %v", len(got), err)
		}
	}
	if !bytes.Equal(got, data) {
		t.Error("other bytes")
	}
	c.ask("start-datanodes")
}

func datanodeStopsInWrite(t *testing.T, c *cluster) {
	b := c.patient(t, time.Minute)
	data := noise(100 << 20)
	w, err := b.Create(t.Context(), "d/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- w.Commit() }()
	for { // until the second block of the temporary file is being written
		entries, err := b.entries(t.Context(), "d")
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 1 && entries[0].Size() > 0 {
			break
		}
	}
	c.ask("stop-datanode")
	c.ask("stop-datanode")
	if _, err := b.Open(t.Context(), "d/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want nothing before the commit", err)
	}
	c.ask("start-datanodes")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantBytes(t, b, "d/x", data)
	wantEntries(t, b, "d", "x")
}

func namenodeStarts(t *testing.T, c *cluster) {
	patient, hasty := c.patient(t, time.Minute), c.patient(t, 100*time.Millisecond)
	hasty.root = patient.root
	write(t, patient, "before", []byte("before"))
	big := noise(1 << 20)
	write(t, patient, "big", big)
	o, err := patient.Open(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	release, err := patient.Claim(t.Context(), "ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	c.ask("stop-namenode 0")
	if _, err := hasty.Open(t.Context(), "before"); !errors.Is(err, ErrAway) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrAway", err)
	}
	if err := blob.WriteAll(t.Context(), hasty, "new", nil); !errors.Is(err, ErrAway) {
		t.Errorf("%v, want ErrAway", err)
	}
	if _, err := New(t.Context(), options(t, c.addresses)); !errors.Is(err, ErrAway) {
		t.Errorf("%v, want ErrAway at once", err)
	}
	got := make([]byte, len(big)) // of an object that was open: the datanodes are there
	if _, err := o.ReadAt(got, 0); err != nil || !bytes.Equal(got, big) {
		t.Error("an open object:", err)
	}
	done := make(chan error)
	go func() { done <- blob.WriteAll(t.Context(), patient, "meanwhile", []byte("meanwhile")) }()
	c.ask("start-namenode 0")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantBytes(t, patient, "meanwhile", []byte("meanwhile"))
	wantBytes(t, patient, "before", []byte("before"))
	again := c.patient(t, time.Minute)
	again.root = patient.root
	_, err = again.Claim(t.Context(), "ck", "job b")
	if is, ok := errors.AsType[*blob.Claimed](err); !ok || is.Who != "job a" {
		t.Errorf("%v, want that job a has it still", err)
	}
	release()
	wantEntries(t, patient, "", "before big meanwhile")
}

func safeMode(t *testing.T, c *cluster) {
	b := c.patient(t, 300*time.Millisecond)
	write(t, b, "x", []byte("x"))
	c.ask("safemode on")
	for what, err := range map[string]error{
		"write":   blob.WriteAll(t.Context(), b, "y", nil),
		"replace": blob.WriteAll(t.Context(), b, "x", []byte("y")),
		"remove":  b.Remove(t.Context(), "x"),
		"publish": b.Publish(t.Context(), "x", "z", blob.Nothing),
	} {
		if !errors.Is(err, ErrSafeMode) {
			t.Errorf("%s: %v, want ErrSafeMode", what, err)
		}
	}
	wantBytes(t, b, "x", []byte("x"))
	patient := c.patient(t, time.Minute)
	patient.root = b.root
	done := make(chan error)
	go func() { done <- blob.WriteAll(t.Context(), patient, "later", []byte("later")) }()
	select {
	case err := <-done:
		t.Errorf("%v, want it to wait", err)
	case <-time.After(200 * time.Millisecond):
	}
	c.ask("safemode off")
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantEntries(t, b, "", "later x")
}

func noPermission(t *testing.T, c *cluster) {
	b := c.patient(t, time.Minute)
	write(t, b, "open/x", []byte("x"))
	write(t, b, "secret/x", []byte("x"))
	c.ask("chmod %s 700", b.path("secret"))
	mallory := c.patient(t, time.Minute, func(o *Options) { o.User = "mallory" })
	mallory.root = b.root
	wantBytes(t, mallory, "open/x", []byte("x"))
	_, err := mallory.Open(t.Context(), "secret/x")
	_, list := mallory.List(t.Context(), "secret")
	_, claim := mallory.Claim(t.Context(), "open/x", "")
	for what, err := range map[string]error{
		"open": err, "list": list, "claim": claim,
		"write":   blob.WriteAll(t.Context(), mallory, "open/y", []byte("y")),
		"replace": blob.WriteAll(t.Context(), mallory, "open/x", []byte("y")),
		"folder":  blob.WriteAll(t.Context(), mallory, "open/deeper/y", []byte("y")),
		"remove":  mallory.Remove(t.Context(), "open/x"),
		"publish": mallory.Publish(t.Context(), "open/x", "z", blob.Anything),
	} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "mallory") {
			t.Errorf("%s: %v, want fs.ErrPermission for mallory", what, err)
		}
	}
	wantEntries(t, b, "open", "x")
}

func quotas(t *testing.T, c *cluster) {
	b := c.patient(t, time.Minute)
	write(t, b, "few/x", []byte("x"))
	write(t, b, "small/x", []byte("x"))
	c.ask("quota %s 2 9000000000", b.path("few")) // the folder and the file
	c.ask("quota %s 100 1000000", b.path("small"))
	for _, name := range []string{"few/y", "few/deep/y", "small/y"} {
		if err := blob.WriteAll(t.Context(), b, name, noise(100)); !errors.Is(err, ErrQuota) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want ErrQuota", name, err)
		}
	}
	wantEntries(t, b, "few", "x")
	wantEntries(t, b, "small", "x")
}

// erasureCoded: what the library cannot read or write is refused, and not misread.
func erasureCoded(t *testing.T, c *cluster) {
	b := c.patient(t, time.Second)
	c.ask("mkdir %s", b.path("ec"))
	c.ask("ec %s XOR-2-1-1024k", b.path("ec"))
	c.ask("fill %s", b.path("ec/x"))
	_, err := b.Open(t.Context(), "ec/x")
	for what, err := range map[string]error{"open": err, "write": blob.WriteAll(t.Context(), b, "ec/y", noise(100))} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "erasure coded") {
			t.Errorf("%s: %v, want errors.ErrUnsupported for erasure coding", what, err)
		}
	}
	wantEntries(t, b, "ec", "x")
}

// answerIsLost has a client make the file of a lease without hearing of it: it takes it all the same.
func answerIsLost(t *testing.T, c *cluster) {
	b := c.patient(t, time.Second)
	if err := b.folders(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.CreateFile(b.path("_tmp.ck.claim"), 1, b.opts.BlockSize, 0o644); err != nil {
		t.Fatal(err)
	}
	release, err := b.Claim(t.Context(), "ck", "job a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), "ck", "job b"); err == nil {
		t.Error("claimed twice")
	}
	release()
	wantEntries(t, b, "", "")
}

func noDatanode(t *testing.T, c *cluster) {
	b := c.patient(t, 300*time.Millisecond)
	big := noise(1 << 20)
	write(t, b, "x", big)
	for range 3 {
		c.ask("stop-datanode")
	}
	if err := blob.WriteAll(t.Context(), b, "y", big); !errors.Is(err, ErrDatanodes) {
		t.Errorf("%v, want ErrDatanodes", err)
	}
	if _, err := blob.ReadAll(t.Context(), b, "x", 1<<30); !errors.Is(err, ErrDatanodes) {
		t.Errorf("%v, want ErrDatanodes", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	b.opts.Patience = time.Hour
	if err := blob.WriteAll(ctx, b, "y", big); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want that the context ended", err)
	}
	wantEntries(t, b, "", "x")
	c.ask("start-datanodes")
	wantBytes(t, b, "x", big)
}

// TestSeveralNamenodes moves the active role, and stops the one that had it.
func TestSeveralNamenodes(t *testing.T) {
	leakless(t)
	c := start(t, 2, 2)
	one, other, _ := strings.Cut(c.addresses, ",")
	b := c.patient(t, time.Minute)
	write(t, b, "x", []byte("of the first"))
	o := options(t, other)
	if _, err := New(t.Context(), o); !errors.Is(err, ErrStandby) {
		t.Errorf("%v, want ErrStandby", err)
	}
	c.ask("active 1")
	wantBytes(t, b, "x", []byte("of the first"))
	write(t, b, "y", []byte("of the second"))
	o = options(t, one)
	if _, err := New(t.Context(), o); !errors.Is(err, ErrStandby) {
		t.Errorf("%v, want ErrStandby", err)
	}
	c.ask("stop-namenode 0")
	write(t, b, "z", []byte("without the first"))
	fresh := c.patient(t, time.Minute)
	fresh.root = b.root
	wantBytes(t, fresh, "z", []byte("without the first"))
	wantEntries(t, fresh, "", "x y z")
}
