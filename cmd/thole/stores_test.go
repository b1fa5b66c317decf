package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"thole.example/blob/s3/s3test"
)

// TestStoresScript runs the scripts of testdata/stores: sessions at the command line of which each has a store of S3 with the bucket
// "bucket" to itself.
func TestStoresScript(t *testing.T) {
	runScriptsWith(t, "testdata/stores", func(e *testscript.Env) error {
		s := s3test.New("bucket")
		e.Defer(s.Close)
		for name, value := range storeVariables(s) {
			e.Setenv(name, value)
		}
		return nil
	})
}

// storeVariables is the environment by which a command finds a store.
func storeVariables(s *s3test.Server) map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testsecret",
		"AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
}

// TestInterruptedStore: Ctrl-C ends a command also while nothing moves in its store, and what it could not give back clean finds.
func TestInterruptedStore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.dummy"), []byte(smallExamples()), 0o666); err != nil {
		t.Fatal(err)
	}
	if p := newProcess(t, dir, "train", "--data", "small.dummy", "--format", "dummy", "--epochs", "1", "--model", "lr"); p.Run() != nil {
		t.Fatal(p.err.String())
	}
	for name, c := range map[string]struct {
		args string
		from func(r *http.Request) bool // the first request that is not answered
	}{
		"upload":      {"data convert small.dummy s3://bucket/up.libsvm --format dummy", puts},
		"convert":     {"convert lr s3://bucket/w.npz", puts},
		"publish":     {"convert lr s3://bucket/w --to angel", func(r *http.Request) bool { return strings.Contains(r.URL.Path, "publish") }},
		"read":        {"predict --model lr --data s3://bucket/none", func(*http.Request) bool { return true }},
		"claim":       {"train --data small.dummy --format dummy --epochs 1 --model s3://bucket/m", puts},
		"save":        {"train --data small.dummy --format dummy --epochs 1 --model s3://bucket/m", notClaims},
		"checkpoint":  {"train --data small.dummy --format dummy --epochs 9 --checkpoint s3://bucket/ck --checkpoint-every 1 --grace 0s", notClaims},
		"trees":       {"train --algo gbdt --data small.dummy --format dummy --trees 9 --checkpoint s3://bucket/ck --checkpoint-every 1 --grace 0s", notClaims},
		"list, clean": {"clean s3://bucket", func(*http.Request) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			s := s3test.New("bucket")
			t.Cleanup(s.Close)
			for name, value := range storeVariables(s) {
				t.Setenv(name, value)
			}
			var hangs atomic.Bool
			reached := make(chan struct{}, 1000)
			s.Plan(func(_ int, r *http.Request) s3test.Action {
				if c.from(r) {
					hangs.Store(true)
				}
				if !hangs.Load() {
					return s3test.Pass
				}
				reached <- struct{}{}
				return s3test.Slow
			})
			p := newProcess(t, dir, strings.Fields(c.args)...)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			<-reached
			if err := p.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); p.ProcessState.ExitCode() != exitInterrupted {
				t.Fatalf("%v, want exit status %d: %s", err, exitInterrupted, p.err.String())
			}
			s.Plan(nil)
			s.Advance(48 * time.Hour)
			if clean := newProcess(t, dir, "clean", "s3://bucket"); clean.Run() != nil {
				t.Error(clean.err.String())
			}
			for _, key := range s.Keys() {
				if strings.Contains(key, "_tmp.") || strings.Contains(key, "uploadId") {
					t.Errorf("%s remains", key)
				}
			}
		})
	}
}

func puts(r *http.Request) bool { return r.Method == http.MethodPut || r.Method == http.MethodPost }

// notClaims is the first write that is no claim.
func notClaims(r *http.Request) bool { return puts(r) && !strings.HasSuffix(r.URL.Path, ".claim") }
