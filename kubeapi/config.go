package kubeapi

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// accountFolder is where a pod finds what its service account may use.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Find is the API that the environment tells of, as getenv gives it: that of the first file of $KUBECONFIG if that is set, in a pod that of
// its cluster, and otherwise that of ~/.kube/config. Of a file it is that of a context; "": of its current one. Pods have no contexts.
func Find(getenv func(string) string, context string) (*API, error) {
	if files := filepath.SplitList(getenv("KUBECONFIG")); len(files) > 0 {
		return FromFile(files[0], context)
	}
	if host := getenv("KUBERNETES_SERVICE_HOST"); host != "" && context == "" {
		return inCluster(net.JoinHostPort(host, cmp.Or(getenv("KUBERNETES_SERVICE_PORT"), "443")), accountFolder)
	}
	file := filepath.Join(getenv("HOME"), ".kube", "config")
	api, err := FromFile(file, context)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no Kubernetes: this is no pod, $KUBECONFIG is not set, and there is no %s", file)
	}
	return api, err
}

// inCluster is the API at an address, with the files of a service account.
func inCluster(addr, folder string) (*API, error) {
	pem, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("the service account of the pod: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := trust(config, pem); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, "ca.crt"), err)
	}
	namespace, _ := os.ReadFile(filepath.Join(folder, "namespace")) // who needs it says so
	return &API{Server: "https://" + addr, Client: client(config), Token: tokenFile(filepath.Join(folder, "token")),
		Namespace: strings.TrimSpace(string(namespace))}, nil
}

// pingTime is how long a connection may be silent before the other side is asked whether it is there, and how long that may take to
// answer. A holder that renews a lease of ten seconds has a third of it left: by then it has noticed, and tried again over another one.
const pingTime = time.Second

// client asks by HTTP/2, so that all requests share a connection. Without pings one whose other side is gone would be used for as long as
// the system sends again what nobody acknowledges, which is a quarter of an hour.
func client(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime},
	}}
}

// tokenFile reads a token again each time: the cluster replaces it every hour.
func tokenFile(file string) func() (string, error) {
	return func() (string, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("token: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
}

func trust(config *tls.Config, pem []byte) error {
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return errors.New("no certificates, want those of the API's authority as PEM")
	}
	return nil
}

// kubeconfig is what we know of such a file.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User, Namespace string }
	}
	Clusters []struct {
		Name    string
		Cluster cluster
	}
	Users []struct {
		Name string
		User user
	}
}

type cluster struct {
	Server   string
	CA       string `yaml:"certificate-authority"`
	CAData   string `yaml:"certificate-authority-data"`
	Insecure bool   `yaml:"insecure-skip-tls-verify"`
	Name     string `yaml:"tls-server-name"`
}

type user struct {
	Token     string
	TokenFile string `yaml:"tokenFile"`
	Cert      string `yaml:"client-certificate"`
	CertData  string `yaml:"client-certificate-data"`
	Key       string `yaml:"client-key"`
	KeyData   string `yaml:"client-key-data"`
	Exec      any
}

// FromFile is the API of a context of a kubeconfig file; "": of its current one. Its user has a token or a certificate; programs that make
// them are not run.
func FromFile(file, context string) (*API, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	var k kubeconfig
	if err := yaml.Unmarshal(text, &k); err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	if context != "" {
		k.CurrentContext = context
	}
	api, err := k.api(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	return api, nil
}

// current is the cluster, the user and the namespace of the current context.
func (k *kubeconfig) current() (c cluster, u user, namespace string, err error) {
	var names []string
	for _, x := range k.Contexts {
		names = append(names, x.Name)
		if x.Name != k.CurrentContext {
			continue
		}
		namespace = x.Context.Namespace
		for _, y := range k.Clusters {
			if y.Name == x.Context.Cluster {
				c = y.Cluster
			}
		}
		for _, y := range k.Users {
			if y.Name == x.Context.User {
				u = y.User
			}
		}
	}
	switch {
	case !slices.Contains(names, k.CurrentContext):
		err = fmt.Errorf("the current context %q is none of the file, want one of %q", k.CurrentContext, names)
	case c.Server == "":
		err = fmt.Errorf("the current context %q has no cluster with a server", k.CurrentContext)
	case u.Token+u.TokenFile != "" && !strings.HasPrefix(c.Server, "https://"):
		err = fmt.Errorf("its token would go to %s in clear, want https://", c.Server)
	case u.Exec != nil && u.Token == "":
		err = errors.New("its user has a program that makes tokens, want a token or a certificate: thole runs no programs of others " +
			"(kubectl create token makes a token)")
	}
	return c, u, namespace, err
}

// api puts together what the file has; files that it names are relative to dir.
func (k *kubeconfig) api(dir string) (*API, error) {
	c, u, namespace, err := k.current()
	if err != nil {
		return nil, err
	}
	ca, err := content(dir, c.CA, c.CAData)
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Name, InsecureSkipVerify: c.Insecure}
	if err == nil && ca != nil {
		err = trust(config, ca)
	}
	cert, cerr := content(dir, u.Cert, u.CertData)
	key, kerr := content(dir, u.Key, u.KeyData)
	if err = errors.Join(err, cerr, kerr); err == nil && cert != nil {
		var pair tls.Certificate
		pair, err = tls.X509KeyPair(cert, key)
		config.Certificates = []tls.Certificate{pair}
	}
	if err != nil {
		return nil, err
	}
	api := &API{Server: c.Server, Client: client(config), Namespace: namespace}
	switch {
	case u.Token != "":
		api.Token = func() (string, error) { return u.Token, nil }
	case u.TokenFile != "":
		api.Token = tokenFile(absolute(dir, u.TokenFile))
	}
	return api, nil
}

func absolute(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// content is what stands in the file itself, or in one that it names; nil if neither is there.
func content(dir, file, data string) ([]byte, error) {
	switch {
	case data != "":
		return base64.StdEncoding.DecodeString(data)
	case file != "":
		return os.ReadFile(absolute(dir, file))
	}
	return nil, nil
}
