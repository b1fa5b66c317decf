package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"thole.example/access"
)

// Keys of the Secret of a launch. Those of the certificate are named as in Secrets of the type kubernetes.io/tls.
const (
	certKey   = "tls.crt"
	keyKey    = "tls.key"
	caKey     = "ca.crt"
	tokensKey = "tokens"  // the servers' list of tokens
	secretKey = "secret"  // of the token of the workers
	watchKey  = "monitor" // of the token for metrics and status
)

// validity is how long a certificate is valid: longer than a launch is meant to run.
const validity = 10 * 365 * 24 * time.Hour

// certificate is a certificate for the servers of a launch, its key, and the authority that signed it, all PEM. The authority's own key is
// forgotten: it signs nothing else.
func (l *Launch) certificate(now time.Time) (cert, key, authority []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	name := l.TLSName()
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "authority of " + l.Name}, SerialNumber: big.NewInt(1),
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "servers of " + l.Name}, SerialNumber: big.NewInt(2),
		NotBefore: root.NotBefore, NotAfter: root.NotAfter, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{name, "*." + name, name + ".cluster.local", "*." + name + ".cluster.local", "localhost"}}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, signer.Public(), signer)
	if err != nil {
		return nil, nil, nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), signer)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, nil, nil, err
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return block("CERTIFICATE", leafDER), block("PRIVATE KEY", keyDER), block("CERTIFICATE", rootDER), nil
}

// Secret is a new Secret for the launch, of keys that exist nowhere else: a certificate for the servers and what verifies it, a token for
// the workers that may write, and one for monitoring that may administer. now is the time from which the certificate is valid, less an hour
// for clocks that differ.
func (l *Launch) Secret(now time.Time) (Object, error) {
	cert, key, authority, err := l.certificate(now)
	if err != nil {
		return Object{}, fmt.Errorf("certificate of %s: %w", l.Name, err)
	}
	workers, watch := access.NewSecret(), access.NewSecret()
	tokens := fmt.Sprintf("%v\n%v\n", access.Token{Name: "workers", Rights: access.Write, Key: workers.Key()},
		access.Token{Name: "monitor", Rights: access.Administer, Key: watch.Key()})
	var data object
	for _, one := range []struct {
		key   string
		value []byte
	}{{caKey, authority}, {watchKey, []byte(watch.Text())}, {secretKey, []byte(workers.Text())}, {certKey, cert}, {keyKey, key},
		{tokensKey, []byte(tokens)}} {
		data = append(data, field{one.key, base64.StdEncoding.EncodeToString(one.value)})
	}
	return l.object("Secret", l.SecretName(), object{{"type", "Opaque"}, {"data", data}}), nil
}

// SecretName is the name of the Secret that the launch creates for itself: NAME-access, or with a mark of the one that owns it
// NAME-access-MARK.
func (l *Launch) SecretName() string {
	if l.SecretMark != "" {
		return l.Name + "-access-" + l.SecretMark
	}
	return l.Name + "-access"
}

// OwnsSecret reports whether the launch needs a Secret of its own: it is not open, and names no Secret for both certificates and tokens.
func (l *Launch) OwnsSecret() bool { return !l.Insecure && (l.TLSSecret == "" || l.TokenSecret == "") }

// tls is the name of the Secret with the certificate; "": connections are not encrypted.
func (l *Launch) tls() string {
	if l.TLSSecret == "" && !l.Insecure {
		return l.SecretName()
	}
	return l.TLSSecret
}

// token is the name of the Secret with tokens; "": servers accept every client.
func (l *Launch) token() string {
	if l.TokenSecret == "" && !l.Insecure {
		return l.SecretName()
	}
	return l.TokenSecret
}

// secretObjects are what gives the launch its Secret: the Secret itself, if it has been generated, or else a Job that creates it in the
// cluster, so that a manifest contains no keys.
func (l *Launch) secretObjects() []Object {
	switch {
	case !l.OwnsSecret():
		return nil
	case l.Generated != nil:
		return []Object{*l.Generated}
	}
	name, labels := l.Name+"-keys", l.labels(keysComponent)
	account := object{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", l.Namespace}}
	rules := []object{
		{{"apiGroups", []string{""}}, {"resources", []string{"secrets"}}, {"verbs", []string{"create"}}}, // it cannot read or change any
		{{"apiGroups", []string{""}}, {"resources", []string{"serviceaccounts"}}, {"resourceNames", []string{l.Name}},
			{"verbs", []string{"get"}}},
	}
	little := object{{"cpu", "100m"}, {"memory", "64Mi"}}
	container := object{{"name", keysComponent}, {"image", l.Image}, {"imagePullPolicy", l.PullPolicy},
		{"args", []string{"launch", "keys", "--namespace=$(POD_NAMESPACE)", "--name=" + l.Name}},
		{"env", append([]object{fromField("POD_NAMESPACE", "metadata.namespace")}, l.variables()...)},
		{"resources", object{{"requests", little}, {"limits", little}}},
		{"securityContext", harmless()}, {"terminationMessagePolicy", "FallbackToLogsOnError"}}
	spec := append(l.podOf(name, "OnFailure"), field{"containers", []object{container}})
	pod := object{{"metadata", object{{"labels", labels}}}, {"spec", spec}}
	return []Object{
		l.object("ServiceAccount", name, object{{"automountServiceAccountToken", always{false}}}),
		l.object("Role", name, object{{"rules", rules}}),
		l.object("RoleBinding", name, object{
			{"roleRef", object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}}}, {"subjects", []object{account}}}),
		l.object("Job", name, object{{"spec", object{{"backoffLimit", 20}, {"template", pod}}}}),
	}
}
