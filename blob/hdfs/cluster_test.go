package hdfs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thole.example/blob"
	"thole.example/blob/blobtest"
)

// Tests need a real cluster. Those that leave it as it was use the one that THOLE_TEST_HDFS names (HOST:PORT of its namenode); those that
// stop parts of it start one of their own with the command that THOLE_TEST_HDFS_RUN names, test/engines/hdfs/run.sh.

// options are those of a cluster for tests, in a folder of the test's own.
func options(t testing.TB, addresses string) Options {
	t.Helper()
	o, _, err := Parse("hdfs://" + addresses)
	if err != nil {
		t.Fatal(err)
	}
	o.Root = fmt.Sprintf("/thole-test/%d/%d", os.Getpid(), count.Add(1))
	return o
}

var count atomic.Int64

// given are the options of the cluster that the environment names.
func given(t *testing.T) Options {
	t.Helper()
	addresses := os.Getenv("THOLE_TEST_HDFS")
	if addresses == "" {
		t.Skip("no cluster: THOLE_TEST_HDFS=HOST:PORT names one, such as test/engines/hdfs/run.sh starts")
	}
	return options(t, addresses)
}

// open makes a bucket, and removes what is in it at the end.
func open(t testing.TB, o Options) *Bucket {
	t.Helper()
	b, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.client.RemoveAll(b.root) // the cluster may be gone
		b.Close()
	})
	return b
}

// cluster is one of the test's own.
type cluster struct {
	t         testing.TB
	addresses string
	folder    string
	in        io.WriteCloser
	out       *bufio.Reader
}

// start starts a cluster, which ends with the test.
func start(t testing.TB, datanodes, namenodes int, more ...string) *cluster {
	t.Helper()
	run := os.Getenv("THOLE_TEST_HDFS_RUN")
	if run == "" {
		t.Skip("no cluster to be stopped: THOLE_TEST_HDFS_RUN=/…/test/engines/hdfs/run.sh starts one")
	}
	dir := t.TempDir()
	cmd := exec.Command(run, append([]string{dir, fmt.Sprint(datanodes), fmt.Sprint(namenodes)}, more...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() }) // which line meets as an end
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
		late.Stop()
	})
	c := &cluster{t: t, folder: dir, in: in, out: bufio.NewReader(out)}
	if c.addresses = c.line(); c.addresses == "" {
		t.Fatal("the cluster does not start")
	}
	late.Stop()
	return c
}

func (c *cluster) line() string {
	line, _ := c.out.ReadString('\n')
	return strings.TrimSpace(line)
}

// ask has the cluster do something, and gives what it says of it.
func (c *cluster) ask(format string, args ...any) string {
	c.t.Helper()
	fmt.Fprintf(c.in, format+"\n", args...)
	answer := c.line()
	if !strings.HasPrefix(answer, "ok") {
		c.t.Fatalf("%s: %s", fmt.Sprintf(format, args...), answer)
	}
	return strings.TrimSpace(strings.TrimPrefix(answer, "ok"))
}

// leakless holds a test to leaving no goroutine behind, but the one that the library leaves when a block breaks off in its middle.
func leakless(t *testing.T) {
	now := goleak.IgnoreCurrent()
	broken := goleak.IgnoreAnyFunction("github.com/colinmarc/hdfs/v2/internal/transfer.(*blockWriteStream).ackPackets")
	t.Cleanup(func() { goleak.VerifyNone(t, now, broken) })
}

func TestConformance(t *testing.T) {
	o := given(t)
	leakless(t)
	blobtest.Run(t, blobtest.Kind{Replaces: true, Empty: func(t *testing.T) blob.Bucket {
		o.Root = path.Join(options(t, "x").Root, "not/there/yet")
		return open(t, o)
	}})
}
