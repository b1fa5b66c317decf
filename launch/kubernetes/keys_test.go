package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"thole.example/access"
	"thole.example/coord"
	"thole.example/coord/kube"
)

// made is the Secret of a launch, by its keys.
func made(t *testing.T, l *Launch, now time.Time) map[string][]byte {
	t.Helper()
	o, err := l.Secret(now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := o.YAML()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	data, _ := at(documents(t, "---\n"+string(text))[0], "data").(map[string]any)
	for key, value := range data {
		if all[key], err = base64.StdEncoding.DecodeString(fmt.Sprint(value)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// handshake dials a server that has the certificate of a Secret.
func handshake(server map[string][]byte, client *tls.Config) error {
	pair, err := tls.X509KeyPair(server[certKey], server[keyKey])
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Write([]byte("x")) // after the handshake
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}

// TestSecret: what a launch generates lets its workers verify its servers and prove who they are, and nobody else: not with the Secret of
// another launch of the same name, and not under another name.
func TestSecret(t *testing.T) {
	now := time.Now()
	mine, other := made(t, small(), now), made(t, small(), now)
	trusting := func(s map[string][]byte, name string) *tls.Config {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(s[caKey]) {
			t.Fatalf("no certificate in %s", s[caKey])
		}
		return &tls.Config{RootCAs: pool, ServerName: name}
	}
	for _, name := range []string{"ctr.models.svc", "ctr-server-1.ctr.models.svc", "ctr.models.svc.cluster.local", "localhost"} {
		if err := handshake(mine, trusting(mine, name)); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	var unknown x509.UnknownAuthorityError
	if err := handshake(other, trusting(mine, "ctr.models.svc")); !errors.As(err, &unknown) {
		t.Errorf("the servers of another launch: %v, want an unknown authority", err)
	}
	var wrong x509.HostnameError
	for _, name := range []string{"ctr.default.svc", "fm.models.svc", "evil.example"} {
		if err := handshake(mine, trusting(mine, name)); !errors.As(err, &wrong) {
			t.Errorf("as %s: %v, want a wrong name", name, err)
		}
	}
	tokens, err := access.ParseTokens(mine[tokensKey])
	if err != nil {
		t.Fatal(err)
	}
	table := access.NewTable(tokens)
	holder := func(text []byte) *access.Grant {
		s, err := access.ParseSecret(text)
		if err != nil {
			t.Fatal(err)
		}
		return table.Holder(s)
	}
	for _, one := range []struct {
		secret     []byte
		may, mayNo access.Right
	}{{mine[secretKey], access.Write, access.Administer}, {mine[watchKey], access.Administer, access.Read}} {
		if g := holder(one.secret); g == nil || g.Check(one.may) != nil || g.Check(one.mayNo) == nil {
			t.Errorf("a token with %+v, want the right to %v alone", g, one.may)
		}
	}
	if holder(other[secretKey]) != nil || holder(other[watchKey]) != nil {
		t.Error("tokens of another launch are accepted")
	}
	for key, value := range mine {
		if strings.Count(string(value), "PRIVATE KEY") > 0 != (key == keyKey) {
			t.Errorf("%s contains a private key, or %s none", key, keyKey)
		}
		if key != certKey && string(value) == string(other[key]) {
			t.Errorf("%s is the same in two Secrets", key)
		}
	}
	if len(mine) != 6 {
		t.Errorf("%d keys, want 6", len(mine))
	}
}

// podsOf are the templates of the pods in a manifest, by component.
func podsOf(docs []map[string]any) map[string]any {
	all := map[string]any{}
	add := func(v any) {
		if name, is := at(v, "metadata", "labels", componentLabel).(string); is && at(v, "spec", "containers") != nil {
			all[name] = v
		}
	}
	for _, doc := range docs {
		add(at(doc, "spec", "template"))
		for i := range 2 {
			add(at(doc, "spec", "replicatedJobs", i, "template", "spec", "template"))
		}
	}
	return all
}

// secretsOf are the keys of Secrets that a pod mounts below /etc/thole, as SECRET/KEY.
func secretsOf(pod any) (all []string) {
	volumes, _ := at(pod, "spec", "volumes").([]any)
	for _, v := range volumes {
		name, _ := at(v, "name").(string)
		if !strings.HasPrefix(name, "thole-") || at(v, "secret") == nil {
			continue
		}
		items, _ := at(v, "secret", "items").([]any)
		for _, item := range items {
			all = append(all, fmt.Sprint(at(v, "secret", "secretName"), "/", at(item, "key")))
		}
		if len(items) == 0 {
			all = append(all, fmt.Sprint(at(v, "secret", "secretName"), "/*"))
		}
	}
	slices.Sort(all)
	return all
}

// TestClosed: unless the user says otherwise, servers want a token and encrypt, workers verify them, a policy admits pods of the launch and
// monitoring alone, and a pod sees the keys that it needs and no others. Only --insecure opens a launch.
func TestClosed(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(*Launch)
		server, worker string // the keys that they see
		job            bool   // creates the Secret
	}{
		{"usual", func(*Launch) {}, "ctr-access/tls.crt ctr-access/tls.key ctr-access/tokens", "ctr-access/ca.crt ctr-access/secret", true},
		{"jobset", func(l *Launch) { l.JobSet = true }, "ctr-access/tls.crt ctr-access/tls.key ctr-access/tokens", "ctr-access/ca.crt ctr-access/secret", true},
		{"own certificate", func(l *Launch) { l.TLSSecret = "tls" }, "ctr-access/tokens tls/tls.crt tls/tls.key", "ctr-access/secret tls/ca.crt", true},
		{"own token", func(l *Launch) { l.TokenSecret = "t" }, "ctr-access/tls.crt ctr-access/tls.key t/tokens", "ctr-access/ca.crt t/secret", true},
		{"own both", func(l *Launch) { l.TokenSecret, l.TLSSecret = "t", "tls" }, "t/tokens tls/tls.crt tls/tls.key", "t/secret tls/ca.crt", false},
		{"generated", func(l *Launch) {
			o, err := l.Secret(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			l.Generated = &o
		}, "ctr-access/tls.crt ctr-access/tls.key ctr-access/tokens", "ctr-access/ca.crt ctr-access/secret", false},
		{"insecure", func(l *Launch) { l.Insecure = true }, "", "", false},
	} {
		l := small()
		c.change(l)
		docs := documents(t, manifest(t, l))
		pods, policies, secrets := podsOf(docs), 0, 0
		for _, doc := range docs {
			switch doc["kind"] {
			case "NetworkPolicy":
				policies++
				checkPolicy(t, doc)
			case "Secret":
				secrets++
			}
		}
		if (policies == 1) == l.Insecure || (secrets == 1) != (l.Generated != nil) || (pods[keysComponent] != nil) != c.job {
			t.Errorf("%s: %d policies, %d Secrets, Job for the keys: %v", c.name, policies, secrets, pods[keysComponent] != nil)
		}
		for component, want := range map[string]string{server: c.server, worker: c.worker, keysComponent: ""} {
			if got := strings.Join(secretsOf(pods[component]), " "); got != want {
				t.Errorf("%s: %s sees %s, want %s", c.name, component, got, want)
			}
		}
		for component, flags := range map[string][]string{server: {"--tls-cert=", "--tls-key=", "--tokens="}, worker: {"--tls-ca=", "--tls-name=", "--token-file="}} {
			args, _ := at(pods[component], "spec", "containers", 0, "args").([]any)
			for _, flag := range flags {
				if has := slices.ContainsFunc(args, func(a any) bool { return strings.HasPrefix(fmt.Sprint(a), flag) }); has == l.Insecure {
					t.Errorf("%s: %s has %s: %v, in %q", c.name, component, flag, has, args)
				}
			}
		}
		probe := at(pods[server], "spec", "containers", 0, "readinessProbe", "httpGet", "scheme")
		if (probe == "HTTPS") == l.Insecure {
			t.Errorf("%s: the probe has the scheme %v", c.name, probe)
		}
	}
}

// checkPolicy checks that a policy admits what it should, and nothing else.
func checkPolicy(t *testing.T, doc map[string]any) {
	t.Helper()
	spec := at(doc, "spec")
	rules, _ := at(spec, "ingress").([]any)
	if at(spec, "podSelector", "matchLabels", LaunchLabel) != "ctr" || at(spec, "policyTypes", 0) != "Ingress" || len(rules) != 2 {
		t.Fatalf("the policy is %v", spec)
	}
	for i, want := range []struct {
		port     int
		selector string
		label    string
		value    string
	}{{serverPort, "podSelector", LaunchLabel, "ctr"}, {adminPort, "namespaceSelector", MonitoringLabel, "true"}} {
		from, _ := at(rules[i], "from").([]any)
		ports, _ := at(rules[i], "ports").([]any)
		if len(from) != 1 || len(ports) != 1 || at(ports[0], "port") != want.port || at(from[0], want.selector, "matchLabels", want.label) != want.value {
			t.Errorf("rule %d admits %v at %v", i, from, ports)
		}
		if peer, _ := from[0].(map[string]any); len(peer) != 1 {
			t.Errorf("rule %d admits %v", i, peer)
		}
	}
}

// TestRights: pods of a launch change the leases of the launch by name, and no others; the Job of the keys creates Secrets and reads none.
func TestRights(t *testing.T) {
	l := small()
	l.Servers, l.WorkerArgs = 20, append(l.WorkerArgs, "--job=train")
	want := map[string]bool{}
	for _, key := range coord.Keys("thole", 20, "train") {
		want[kube.LeaseName("ctr", key)] = true
	}
	for _, doc := range documents(t, manifest(t, l)) {
		rules, _ := at(doc, "rules").([]any)
		if doc["kind"] != "Role" {
			continue
		}
		for _, rule := range rules {
			resource, verbs, names := at(rule, "resources", 0), fmt.Sprint(at(rule, "verbs")), at(rule, "resourceNames")
			list, _ := names.([]any)
			switch {
			case resource == "leases" && names == nil && verbs == "[list watch create]":
			case resource == "leases" && verbs == "[get update]":
				for _, name := range list {
					delete(want, fmt.Sprint(name))
				}
				if len(list) != 21 {
					t.Errorf("%d names, want those of 20 servers and a job: %v", len(list), list)
				}
			case resource == "secrets" && names == nil && verbs == "[create]" && at(doc, "metadata", "name") == "ctr-keys":
			case resource == "serviceaccounts" && verbs == "[get]" && fmt.Sprint(list) == "[ctr]" && at(doc, "metadata", "name") == "ctr-keys":
			default:
				t.Errorf("%v allows %v", at(doc, "metadata", "name"), rule)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no right to %v", want)
	}
}

// TestCreateSecret: a Secret is created once and belongs to the ServiceAccount; one that is there stays as it is.
func TestCreateSecret(t *testing.T) {
	f := &fakeAPI{objects: map[string]map[string]any{}}
	c, l := f.cluster(t), small()
	if _, err := c.CreateSecret(t.Context(), l, time.Now()); !errors.Is(err, ErrNone) {
		t.Errorf("without a launch: %v, want %v", err, ErrNone)
	}
	f.put(t, "/api/v1/namespaces/models/serviceaccounts/ctr", `{"metadata":{"name":"ctr","uid":"u1"}}`)
	if created, err := c.CreateSecret(t.Context(), l, time.Now()); err != nil || !created {
		t.Fatalf("%v, %v, want it created", created, err)
	}
	const place = "/api/v1/namespaces/models/secrets/ctr-access"
	before := fmt.Sprint(f.objects[place])
	if at(f.objects[place], "metadata", "ownerReferences", 0, "uid") != "u1" || at(f.objects[place], "metadata", "labels", LaunchLabel) != "ctr" {
		t.Errorf("the Secret is %v", at(f.objects[place], "metadata"))
	}
	if created, err := c.CreateSecret(t.Context(), l, time.Now()); err != nil || created || fmt.Sprint(f.objects[place]) != before {
		t.Errorf("a second time: %v, %v, want it left as it is", created, err)
	}
}
