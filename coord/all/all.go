// Package all is the table of the stores that coordination can be kept in, by the forms of their URLs.
package all

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"thole.example/coord"
	"thole.example/coord/dir"
	"thole.example/coord/etcd"
	"thole.example/coord/kube"
	"thole.example/internal/spell"
	"thole.example/kubeapi"
)

// Backend is a kind of store.
type Backend struct {
	Scheme string   // of its URLs, without the colon
	Form   string   // of a URL, for people
	Help   string   // what it is and wants
	Query  []string // settings that may follow a question mark
	Open   func(u *url.URL) (coord.Store, error)
	Find   func(u *url.URL) (coord.Store, error) // as Open, but makes nothing
}

// Backends is all kinds of stores.
func Backends() []Backend {
	return []Backend{
		{"dir", "dir:FOLDER", "a folder of this machine, or of a file system that all machines share", nil,
			openDir(dir.Open), openDir(dir.Find)},
		{"etcd", "etcd://HOST:PORT,HOST:PORT/PREFIX", "an etcd cluster, with TLS if there is ?ca=FILE, and &cert=FILE&key=FILE",
			[]string{"ca", "cert", "key"}, openEtcd, openEtcd},
		{"kube", "kube:///NAMESPACE/NAME", "Leases in Kubernetes; in a pod by its service account, else by $KUBECONFIG", nil,
			openKube, openKube},
	}
}

// ErrURL is that of a URL which is none of a store.
var ErrURL = errors.New("not the URL of a store")

// Open is the store of a URL. Nothing is asked yet, but a folder is made.
func Open(text string) (coord.Store, error) {
	return open(text, func(b Backend) func(*url.URL) (coord.Store, error) { return b.Open })
}

// Find is Open for who only looks: a folder that is no store is an error.
func Find(text string) (coord.Store, error) {
	return open(text, func(b Backend) func(*url.URL) (coord.Store, error) { return b.Find })
}

func open(text string, how func(Backend) func(*url.URL) (coord.Store, error)) (coord.Store, error) {
	backends := Backends()
	scheme, _, _ := strings.Cut(text, ":")
	var names, forms []string
	for _, b := range backends {
		names, forms = append(names, b.Scheme), append(forms, b.Form)
	}
	i := slices.Index(names, scheme)
	if i < 0 || !strings.Contains(text, ":") {
		return nil, fmt.Errorf("%q is %w, want %s%s", text, ErrURL, strings.Join(forms, " or "), meant(scheme, names))
	}
	b := backends[i]
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is %w, want %s: %w", text, ErrURL, b.Form, err)
	}
	for key := range u.Query() {
		if !slices.Contains(b.Query, key) {
			return nil, fmt.Errorf("%q is %w: it has the setting %q, want %s%s", text, ErrURL, key, b.Help, meant(key, b.Query))
		}
	}
	if u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("%q is %w: it has a user or a fragment, want %s", u.Redacted(), ErrURL, b.Form)
	}
	s, err := how(b)(u)
	if errors.Is(err, ErrURL) {
		err = fmt.Errorf("%q is %w, want %s", text, err, b.Form)
	}
	return s, err
}

// meant is the name that is probably meant, as the end of an error.
func meant(name string, known []string) string {
	if near := spell.Near(name, known); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

func openDir(open func(string) (*dir.Store, error)) func(*url.URL) (coord.Store, error) {
	return func(u *url.URL) (coord.Store, error) {
		folder, err := url.PathUnescape(u.Opaque) // dir:FOLDER
		if err != nil {
			return nil, err
		}
		if folder == "" {
			folder = u.Path // dir:/FOLDER, dir:///FOLDER
		}
		if folder == "" || u.Host != "" {
			return nil, ErrURL
		}
		s, err := open(folder)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

func openEtcd(u *url.URL) (coord.Store, error) {
	endpoints := strings.Split(u.Host, ",")
	if slices.Contains(endpoints, "") || u.Opaque != "" {
		return nil, ErrURL
	}
	q := u.Query()
	if (q.Get("cert") == "") != (q.Get("key") == "") || q.Get("cert") != "" && q.Get("ca") == "" {
		return nil, fmt.Errorf("%w: cert and key go together, and with ca", ErrURL)
	}
	var config *tls.Config
	if file := q.Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		config = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificates, want those of the authority as PEM", file)
		}
		if q.Get("cert") != "" {
			pair, err := tls.LoadX509KeyPair(q.Get("cert"), q.Get("key"))
			if err != nil {
				return nil, err
			}
			config.Certificates = []tls.Certificate{pair}
		}
	}
	return etcd.Open(endpoints, u.Path, config)
}

func openKube(u *url.URL) (coord.Store, error) {
	namespace, name, ok := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !ok || u.Host != "" {
		return nil, ErrURL
	}
	api, err := kubeapi.Find(os.Getenv, "")
	if err != nil {
		return nil, err
	}
	return kube.Open(api, namespace, name)
}
