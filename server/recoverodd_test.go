package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/journal"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// loggedJob is a server whose log has a job of one task that pushes, loads and waits, and that was killed.
func loggedJob(t *testing.T, bucket blob.Bucket, base int64) *journaltest.Disk {
	disk := journaltest.NewDisk(1)
	net := &mem.Network{}
	s := newLogged(t, disk, bucket)
	s.LogBase = base
	l, err := net.Listen(t.Context(), "s", s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.BSP, Retry: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	save := ps.SaveOptions{Codec: "angel", Path: "model", Lossy: true}
	if err := errors.Join(p.Create(t.Context(), "", meta("m", 2, 10, matrix.RowDense)), p.Save(t.Context(), save)); err != nil {
		t.Fatal(err)
	}
	b := matrix.NewDense(matrix.F64, matrix.At(0, 2, 0, 10))
	err = errors.Join(p.Push("m", b), p.Clock(t.Context(), 1, 1), p.Load(t.Context(), ps.LoadOptions{Path: "model"}), p.Push("m", b),
		p.Clock(t.Context(), 1, 1), p.Flush(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute) // a base is there
	disk.Start()
	return disk
}

func newLogged(t *testing.T, disk *journaltest.Disk, bucket blob.Bucket) *server.Server {
	return &server.Server{Funcs: table(t, more), Codecs: codecs, Bucket: bucket, Logs: disk.Start()}
}

// untilAllEnds runs a test in a bubble, until nobody is waited for any more.
func untilAllEnds(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		f(t)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
	})
}

// TestRecoverDamaged: a log that is damaged before its end is kept aside, which is said with the folder and the byte, and the server goes on
// without the job; repaired, and with its name again, it is replayed.
func TestRecoverDamaged(t *testing.T) { untilAllEnds(t, recoverDamaged) }

func recoverDamaged(t *testing.T) {
	bucket := &blob.Mem{}
	disk := loggedJob(t, bucket, 0)
	file := disk.Folders["000001"]["00000000000000000000.log"]
	file.Bytes[140] ^= 1
	names, said := recovers(t, disk, bucket)
	if !slices.Equal(names, []string{"kept.000001"}) || !strings.Contains(said, "log 000001: ") || !strings.Contains(said, "at byte ") ||
		!strings.Contains(said, "give it its name again") {
		t.Errorf("after a damaged log there is %q, and the server says %s", names, said)
	}
	file.Bytes[140] ^= 1
	if names, said = recovers(t, disk, bucket); !slices.Equal(names, []string{"kept.000001"}) || strings.Contains(said, "job") {
		t.Errorf("there is %q, and a server that finds a log aside says %s", names, said)
	}
	disk.Folders["000001"] = disk.Folders["kept.000001"]
	delete(disk.Folders, "kept.000001")
	if names, said = recovers(t, disk, bucket); !slices.Equal(names, []string{"000001"}) || !strings.Contains(said, "job continues where") {
		t.Errorf("there is %q, and of the log as it was the server says %s", names, said)
	}
}

// lines is what servers say, also later.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// recovers starts a server with the logs of a disk, and tells the folders that there are then, and what it says.
func recovers(t *testing.T, disk *journaltest.Disk, bucket blob.Bucket) (names []string, said string) {
	t.Helper()
	var out lines
	s := newLogged(t, disk, bucket)
	s.Log = slog.New(slog.NewTextHandler(&out, nil))
	err := s.Recover(t.Context())
	synctest.Wait()
	if said = out.String(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	names, _ = disk.Now().List()
	slices.Sort(names)
	disk.Start()
	return names, said
}

// TestRecoverLoadChanged: a job that has loaded what is not there any more is given up, and the server goes on without it.
func TestRecoverLoadChanged(t *testing.T) { untilAllEnds(t, recoverLoadChanged) }

func recoverLoadChanged(t *testing.T) {
	bucket := &blob.Mem{}
	disk := loggedJob(t, bucket, 0)
	for _, there := range []bool{true, false} {
		if !there {
			if err := bucket.Remove(t.Context(), "model"); err != nil {
				t.Fatal(err)
			}
		}
		net := &mem.Network{}
		s := newLogged(t, disk, bucket)
		if err := s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen(t.Context(), "s", s)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := ps.Follow(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j"})
		if there && err != nil || !there && !errors.Is(err, rpc.ErrNotFound) {
			t.Errorf("the model is there: %v, and a reader of the job gets %v", there, err)
		}
		if err == nil {
			_ = reader.Close()
		}
		_ = l.Close()
		time.Sleep(time.Hour)
		if names, err := disk.Now().List(); err != nil || !there && !slices.Equal(names, []string{"kept.000001"}) {
			t.Errorf("the model is there: %v, and so are %q, %v", there, names, err)
		}
		disk.Start()
	}
}

// TestRecoverAnything: whatever records have in them, with right checksums, the server says what is wrong or goes on, and does not panic.
func TestRecoverAnything(t *testing.T) { untilAllEnds(t, recoverAnything) }

func recoverAnything(t *testing.T) {
	bucket := &blob.Mem{}
	var records []journal.Record
	log, err := journal.Open(loggedJob(t, bucket, 0).Start().Folder("000001"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := log.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer log.Close()
	for r.Position() < log.Durable() {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rec.Body = append([]byte(nil), rec.Body...)
		records = append(records, rec)
	}
	if len(records) < 7 {
		t.Fatalf("%d records, want those of a job", len(records))
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		disk := journaltest.NewDisk(1)
		log, err := journal.Open(disk.Start().Folder("000001"), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range records {
			body, kind := append([]byte(nil), rec.Body...), rec.Kind
			switch what := rng.IntN(12); {
			case i == 0 || what > 3:
			case what == 0:
				kind = uint32(rng.IntN(14))
			case what == 1 && len(body) > 0:
				body = body[:rng.IntN(len(body))]
			case len(body) > 0:
				body[rng.IntN(len(body))] ^= 1 << rng.IntN(8)
			}
			if _, err := log.Append(t.Context(), [][]byte{body}, kind); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		_ = newLogged(t, disk, bucket).Recover(t.Context()) // a replay that hangs ends the test
	}
}

// TestRecoverWithout: tasks that the others go on without, which had joined or not, are given up also after the server was killed, with a base
// of its log and without.
func TestRecoverWithout(t *testing.T) {
	for _, base := range []int64{0, 1} {
		untilAllEnds(t, func(t *testing.T) { recoverWithout(t, base) })
	}
}

func recoverWithout(t *testing.T, base int64) {
	disk, net, bucket := journaltest.NewDisk(1), &mem.Network{}, &blob.Mem{}
	start := func() rpc.Listener {
		s := newLogged(t, disk, bucket)
		s.LogBase = base
		if err := s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen(t.Context(), "s", s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := start()
	dial := func(task int) *ps.Client {
		p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Task: task, Tasks: 3, Attempt: 1, Retry: time.Hour,
			Optional: task > 0})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, other := dial(0), dial(1)
	defer p.Close()
	defer other.Close()
	w := meta("w", 1, 8, matrix.RowDense)
	if _, err := p.Attendance(t.Context(), 1, 2); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := errors.Join(p.Create(t.Context(), "", w), p.Push("w", ones(w)), p.Clock(t.Context(), 0, 0), p.Barrier(t.Context())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		_ = l.Close()
		l = start()
	}
	all, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "w"}})
	if err != nil || all[0].Data.Values().([]float64)[7] != 3 {
		t.Errorf("%v, %v, want 3 everywhere", all, err)
	}
	if err := errors.Join(p.Leave(t.Context()), l.Close()); err != nil {
		t.Error(err)
	}
}
