package server_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// TestBaseKilledAnywhere kills a server at each operation on its disk while it writes logs and bases, with and without loss of power: started
// again it has all that was acknowledged, and the job ends as if nothing had happened, whatever of a base was there. What it saves is saved again.
func TestBaseKilledAnywhere(t *testing.T) {
	bases, over := 0, false
	for n := 1; !over; n++ {
		if n > 5000 {
			t.Fatal("the job does not end")
		}
		if testing.Short() && n%7 != 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			disk := journaltest.NewDisk(uint64(n))
			disk.Left = n
			b, killed := countUp(t, disk, n%3 == 0, n%2 == 0)
			bases += b
			over = over || !killed && n%3 > 0
		})
	}
	if bases == 0 {
		t.Error("no server was killed when its log had a base")
	}
	t.Logf("%d times a log had a base when its server was killed", bases)
}

// countUp has a task add to a matrix that it sees under ASP, on a server that is killed when its disk says so, and started again.
func countUp(t *testing.T, disk *journaltest.Disk, unsynced, power bool) (bases int, killed bool) {
	const pushes, wide = 16, 40
	net, bucket := &mem.Network{}, &blob.Mem{}
	over := make(chan struct{})
	l := startBased(t, disk, net, bucket, unsynced)
	defer func() { _ = l.Close() }()
	done := make(chan struct{})
	go func() { // what starts the server again
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if disk.Alive() {
				continue
			}
			killed = true
			bases += disk.Bases()
			_ = l.Close()
			if power && !unsynced {
				disk.Power()
			}
			l = startBased(t, disk, net, bucket, unsynced)
		}
	}()
	p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour})
	for errors.Is(err, journaltest.ErrKilled) || err != nil && strings.Contains(err.Error(), "killed") {
		time.Sleep(50 * time.Millisecond)
		p, err = ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Create(t.Context(), "", meta("m", 1, wide, matrix.RowDense)); err != nil {
		t.Fatal(err)
	}
	one := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, wide))
	for i := range wide {
		one.Data.Values().([]float64)[i] = 1
	}
	for n := 1; n <= pushes; n++ {
		if err := errors.Join(p.Push("m", one), p.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		all, err := p.Pull(t.Context(), []matrix.Lookup{{Matrix: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].Data.Values().([]float64); slices.Min(got) != float64(n) || slices.Max(got) != float64(n) {
			t.Fatalf("after %d pushes there is %v", n, got)
		}
		if n%(pushes/2) == 0 { // to one path: what the job has saved there may be replaced, and nothing else
			if err := p.Save(t.Context(), ps.SaveOptions{Codec: "angel", Path: "model", Lossy: true}); err != nil {
				t.Fatalf("save after %d pushes: %v", n, err)
			}
		}
	}
	time.Sleep(time.Minute) // the last base is written
	if n := disk.Logged(); n > 4*basedAt {
		t.Errorf("%d bytes of records are left after %d pushes of %d bytes, want what came since the last base", n, pushes, 8*wide)
	}
	if err := p.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute) // it may be killed while it removes the log
	close(over)
	<-done
	_ = p.Close()
	time.Sleep(3 * time.Hour) // servers that were killed wait for nobody any more
	synctest.Wait()
	if names, err := disk.Now().List(); err != nil || len(names) > 0 {
		t.Errorf("the job has ended, and there are logs %q, %v", names, err)
	}
	return bases, killed
}

// basedAt is after how many bytes the logs of these tests get a base.
const basedAt = 1000

// startBased starts a server whose log gets a base for every few pushes.
func startBased(t *testing.T, disk *journaltest.Disk, net *mem.Network, bucket blob.Bucket, unsynced bool) rpc.Listener {
	for try := 0; ; try++ {
		s := &server.Server{Funcs: table(t, more), Codecs: codecs, Bucket: bucket, Logs: disk.Start(), LogUnsynced: unsynced, LogBase: basedAt}
		err := s.Recover(t.Context())
		if err != nil && disk.Alive() {
			t.Errorf("a server that was killed anywhere does not start again: %v", err)
		}
		if names, _ := disk.Now().List(); err == nil && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "kept.") }) {
			t.Errorf("the log is no log any more: %q", names)
		}
		l, err := net.Listen(t.Context(), "s", s)
		if err == nil {
			return l
		}
		if try > 100 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestBaseLaunch: a server that is started again from a base still shuts out what is left of a job before all of its processes were started
// again.
func TestBaseLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, net, bucket := journaltest.NewDisk(1), &mem.Network{}, &blob.Mem{}
		l := startBased(t, disk, net, bucket, false)
		defer func() { l.Close() }()
		dial := func(launch int, worker string) (*ps.Client, error) {
			return ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour,
				Launch: launch, Worker: worker})
		}
		p, err := dial(3, "new")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Create(t.Context(), "", meta("m", 1, 40, matrix.RowDense)); err != nil {
			t.Fatal(err)
		}
		one := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 40))
		for disk.Bases() == 0 {
			if err := errors.Join(p.Push("m", one), p.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		disk.Kill()
		_ = l.Close()
		l = startBased(t, disk, net, bucket, false)
		stale, err := dial(2, "old")
		if !errors.Is(err, rpc.ErrRefused) || !strings.Contains(err.Error(), "attempt 3 has begun") {
			t.Errorf("%v, want that attempt 3 has begun", err)
		}
		if stale != nil {
			stale.Close()
		}
		if err := p.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		_ = p.Close()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
	})
}

// TestBaseDamaged: a log whose base is damaged, missing, or of a later position than its end is kept aside.
func TestBaseDamaged(t *testing.T) { untilAllEnds(t, baseDamaged) }

func baseDamaged(t *testing.T) {
	bucket := &blob.Mem{}
	disk := loggedJob(t, bucket, 100)
	var name string
	for file := range disk.Folders["000001"] {
		if strings.HasPrefix(file, "base.") {
			name = file
		}
	}
	if name == "" {
		t.Fatalf("no base among %v", disk.Folders["000001"])
	}
	base := disk.Folders["000001"][name].Bytes
	later := "base.00000000000000999999"
	try := func(what string, as string, b []byte) {
		files := maps.Clone(disk.Folders["000001"])
		if delete(files, name); b != nil {
			files[as] = &journaltest.File{Bytes: b}
		}
		now := journaltest.NewDisk(1)
		now.Folders["000001"] = files
		if names, said := recovers(t, now, bucket); !slices.Equal(names, []string{"kept.000001"}) {
			t.Errorf("with a base that is %s there are %q, and the server says %s", what, names, said)
		}
	}
	try("missing", "", nil)
	try("later", later, base)
	for i := 0; i < len(base); i += 1 + len(base)/300 {
		bad := slices.Clone(base)
		bad[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("damaged at byte %d", i), name, bad)
		try(fmt.Sprintf("cut off at byte %d", i), name, base[:i])
	}
}
