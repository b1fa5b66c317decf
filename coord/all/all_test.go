package all_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/coord"
	"thole.example/coord/all"
	"thole.example/coord/coordtest"
	"thole.example/coord/node"
)

// TestBackends: each kind of store passes the suite by its URL; that of Kubernetes wants a cluster, and has a test of its own.
func TestBackends(t *testing.T) {
	n, err := node.Start(node.Config{Dir: filepath.Join(t.TempDir(), "etcd"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	urls := map[string]string{"dir": "dir:" + url.PathEscape(t.TempDir()+"/a b"), "etcd": "etcd://" + n.Addr() + "/models", "kube": ""}
	for _, b := range all.Backends() {
		text, there := urls[b.Scheme]
		if !there {
			t.Errorf("no test has the URL of %s", b.Scheme)
		}
		if text == "" {
			continue
		}
		t.Run(b.Scheme, func(t *testing.T) {
			coordtest.Store(t, func(t *testing.T) coord.Store {
				s, err := all.Open(text)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s
			})
		})
	}
}

// TestFolders: the path of a folder is unescaped once, in each form of its URL.
func TestFolders(t *testing.T) {
	in := t.TempDir()
	t.Chdir(in)
	for text, want := range map[string]string{
		"dir:relative":                       "relative",
		"dir:of%2541%20it":                   "of%41 it",
		"dir:" + in + "/of%2541%20path":      "of%41 path",
		"dir://" + in + "/of%2541%20host":    "of%41 host",
		"dir:" + url.PathEscape(in+"/%41 ?"): "%41 ?",
		(&url.URL{Scheme: "dir", Path: in + "/x%41?#", OmitHost: true}).String(): "x%41?#",
	} {
		s, err := all.Open(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s.Close()
		if _, err := os.Stat(filepath.Join(in, want)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestURLs: what is no URL of a store is refused, with what is wanted.
func TestURLs(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, c := range []struct {
		url, want string
		usage     bool
	}{
		{"", "want dir:FOLDER or etcd://", true}, {"/data", "want dir:FOLDER", true}, {"etc://a:1", "did you mean etcd?", true}, {"dir", "want dir:FOLDER", true},
		{"dir:", "want dir:FOLDER", true}, {"dir://host/x", "want dir:FOLDER", true}, {"dir:x?ca=y", `has the setting "ca"`, true},
		{"etcd:a:1", "want etcd://HOST", true}, {"etcd://", "want etcd://HOST", true}, {"etcd://a:1,,b:1", "want etcd://HOST", true},
		{"etcd://a:1?kert=x", "did you mean cert?", true}, {"etcd://a:1?cert=x", "go together", true}, {"etcd://a:1?cert=x&key=y", "with ca", true},
		{"etcd://a:1?ca=no.pem", "no.pem", false}, {"etcd://u:secret@a:1", "a user", true}, {"etcd://a:1/x//y", `the part ""`, false},
		{"kube:///default", "want kube:///NAMESPACE/NAME", true}, {"kube://default/x", "want kube:///NAMESPACE/NAME", true},
		{"kube:///default/x", "kubeconfig", false}, {"dir:" + t.TempDir() + "/no/folder", "no such file", false},
	} {
		s, err := all.Open(c.url)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, all.ErrURL) != c.usage || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v, want %q", c.url, s, err, c.want)
		}
	}
}
