package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"thole.example/blob/s3/s3test"
)

// TestKeptModel lets the save of a trained model fail after the training: it is kept next to the target, the message says where, and the
// exit code says that something went wrong.
func TestKeptModel(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range savedExamples() {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("model-kept", 0o777); err != nil { // which is not free
		t.Fatal(err)
	}
	if err := os.WriteFile("model-kept/x", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lr", "gbdt"} {
		var b bytes.Buffer
		e := &env{in: strings.NewReader(""), out: &b, err: &onTraining{&b, func() { occupy("model") }}}
		args := []string{"train", "--algo", name, "--data", "examples.csv", "--holdout", "0", "--runs", "none", "--model", "model"}
		rc := Main(args, e)
		if rc == 0 || !strings.Contains(b.String(), "saved as model-kept-2") || !strings.Contains(b.String(), "thole convert model-kept-2 TARGET") {
			t.Errorf("%s: exit code %d: %s", name, rc, &b)
		}
		if rc, text := said(t, "predict", "--model", "model-kept-2", "--data", "examples.csv"); rc != 0 {
			t.Errorf("%s: %s", name, text)
		}
		for _, gone := range []string{"model", "model-kept-2"} {
			if err := os.RemoveAll(gone); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestKeptElsewhere lets the folder of a trained model become a file during the training, or its store refuse to write: nothing can be saved
// next to the target, so the model is kept in the working folder.
func TestKeptElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range savedExamples() {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	store := s3test.New("bucket")
	t.Cleanup(store.Close)
	for name, value := range storeVariables(store) {
		t.Setenv(name, value)
	}
	for _, target := range []string{"dir/model", "s3://bucket/dir/model", "s3://bucket/away/model"} {
		for _, name := range []string{"lr", "gbdt"} {
			var refuses atomic.Bool
			store.Plan(func(_ int, r *http.Request) s3test.Action {
				switch {
				case !refuses.Load() || r.Method == http.MethodGet && !strings.HasPrefix(target, "s3://bucket/away"):
					return s3test.Pass
				case strings.HasPrefix(target, "s3://bucket/away"):
					return s3test.Cut
				}
				return s3test.Forbidden
			})
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			var b bytes.Buffer
			e := &env{in: strings.NewReader(""), out: &b, err: &onTraining{&b, func() {
				refuses.Store(true)
				_ = os.Rename("dir", "before") // it is one from the second time on
				_ = os.WriteFile("dir", nil, 0o666)
			}}}
			args := []string{"train", "--algo", name, "--data", "examples.csv", "--holdout", "0", "--runs", "none", "--model", strings.ReplaceAll(target, "/model", "/"+name+"/model")}
			if err := os.MkdirAll("dir/"+name, 0o777); err != nil {
				t.Fatal(err)
			}
			rc := Main(args, e)
			if rc == 0 || !strings.Contains(b.String(), "saved as model-kept (format angel): thole convert model-kept TARGET") {
				t.Errorf("%s to %s: exit code %d: %s", name, target, rc, &b)
			}
			if rc, text := said(t, "predict", "--model", "model-kept", "--data", "examples.csv"); rc != 0 {
				t.Errorf("%s to %s: %s", name, target, text)
			}
			for _, gone := range []string{"dir", "before", "model-kept"} {
				if err := os.RemoveAll(gone); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestKeptOnServers lets the save of a model on servers of their own fail: it is kept next to the target in their store.
func TestKeptOnServers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range savedExamples() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, one := startServer(t, dir)
	_, two := startServer(t, dir)
	for _, name := range []string{"lr", "deepfm", "gbdt"} {
		var b bytes.Buffer
		e := &env{in: strings.NewReader(""), out: &b, err: &onTraining{&b, func() { occupy(filepath.Join(dir, name)) }}}
		rc := Main([]string{"worker", "--servers", one + "," + two, "--algo", name, "--data", filepath.Join(dir, "examples.libffm"), "--holdout", "0",
			"--runs", "none", "--model", name}, e)
		if rc == 0 || !strings.Contains(b.String(), "saved as "+name+"-kept") {
			t.Errorf("%s: exit code %d: %s", name, rc, &b)
		}
		rc, text := said(t, "predict", "--model", filepath.Join(dir, name+"-kept"), "--data", filepath.Join(dir, "examples.libffm"))
		if rc != 0 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestKeptByWorker lets the store of servers refuse every save after the training: the worker keeps the model in its working directory.
func TestKeptByWorker(t *testing.T) {
	dir := t.TempDir()
	for name, text := range savedExamples() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	_, one := startServer(t, dir)
	_, two := startServer(t, dir)
	data := filepath.Join(dir, "examples.libffm")
	for _, args := range [][]string{{"lr"}, {"deepfm"}, {"deepfm", "--sparse"}, {"fm", "--sparse"}, {"gbdt"}} {
		name := args[0]
		args = append([]string{"--algo", name, "--data", data, "--holdout", "0", "--runs", "none"}, args[1:]...)
		if rc, text := said(t, append([]string{"train", "--model", "want"}, args...)...); rc != 0 {
			t.Fatal(text)
		}
		folder := filepath.Join(dir, "sub")
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		e := &env{in: strings.NewReader(""), out: &b, err: &onTraining{&b, func() {
			_ = os.RemoveAll(folder)
			_ = os.WriteFile(folder, nil, 0o666)
		}}}
		rc := Main(append([]string{"worker", "--servers", one + "," + two, "--model", "sub/" + name}, args...), e)
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		if rc == 0 || !strings.Contains(b.String(), "saved as "+filepath.ToSlash(filepath.Join(here, name+"-kept"))+" (format angel)") {
			t.Errorf("%v: exit code %d: %s", args, rc, &b)
		}
		if rc, text := said(t, "diff", "want", name+"-kept"); rc != 0 {
			t.Errorf("%v: %s", args, text)
		}
		if rc, text := said(t, "predict", "--model", name+"-kept", "--data", data); rc != 0 {
			t.Errorf("%v: %s", args, text)
		}
		for _, gone := range []string{folder, "want", name + "-kept"} {
			if err := os.RemoveAll(gone); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// occupy puts a folder of another program at a path.
func occupy(path string) {
	_ = os.Mkdir(path, 0o777) // it is there from the second time on
	_ = os.WriteFile(path+"/foreign", []byte("x"), 0o666)
}

// onTraining is a stream of messages that does something with each line of progress.
type onTraining struct {
	*bytes.Buffer
	do func()
}

func (w *onTraining) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("epoch ")) || bytes.Contains(p, []byte("tree ")) {
		w.do()
	}
	return w.Buffer.Write(p)
}
