package tcp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thole.example/access"
	"thole.example/rpc"
	"thole.example/rpc/rpctest"
)

// The network keeps its promises over TLS, with certificates of both sides and tokens too.
func TestEncryptedNetwork(t *testing.T) {
	a, secret := newAuthority(t), access.NewSecret()
	own := a.issue("client", time.Now().Add(time.Hour))
	table := access.NewTable([]access.Token{{Name: "all", Key: secret.Key(), Rights: access.Write}})
	for _, place := range []string{"tcp", "unix"} {
		t.Run(place, func(t *testing.T) {
			rpctest.Run(t, func(t testing.TB, window int) (rpc.Network, string) {
				n := Network{Window: window, ServerTLS: a.wants(), ClientTLS: a.dials(own), Tokens: table, Secret: &secret, Log: (&journal{}).logger()}
				if place == "tcp" {
					return n, "127.0.0.1:0"
				}
				n.ClientTLS.ServerName = "127.0.0.1"
				return n, "unix:" + filepath.Join(t.TempDir(), "s")
			})
		})
	}
}

func BenchmarkTLS(b *testing.B) {
	a := newAuthority(b)
	rpctest.Bench(b, func(testing.TB, int) (rpc.Network, string) {
		return Network{ServerTLS: a.serves(), ClientTLS: a.dials()}, "127.0.0.1:0"
	})
}

// Whoever has no certificate that is right is not spoken to, on either side, and is told why; the neighbour stays served.
func TestCertificates(t *testing.T) {
	a, foreign := newAuthority(t), newAuthority(t)
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	server := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	named := a.dials()
	named.ServerName = "other.example"
	for _, c := range []struct {
		name           string
		server, client *tls.Config
		want           string // of the client's error; "": none
	}{
		{"right", a.serves(), a.dials(), ""},
		{"right, both sides", a.wants(), a.dials(a.issue("c", later)), ""},
		{"expired", server(a.issue("127.0.0.1", before)), a.dials(), "certificate has expired"},
		{"foreign", foreign.serves(), a.dials(), "certificate signed by unknown authority"},
		{"another host's", server(a.issue("other.example", later)), a.dials(), "127.0.0.1"},
		{"not the name that was asked for", a.serves(), named, "other.example"},
		{"none of the client", a.wants(), a.dials(), "certificate required"},
		{"a foreign one of the client", a.wants(), a.dials(foreign.issue("c", later)), "bad certificate|unknown certificate|certificate required"},
		{"an expired one of the client", a.wants(), a.dials(a.issue("c", before)), "expired certificate|bad certificate"},
		{"a server without TLS", nil, a.dials(), "does not look like a TLS handshake"},
		{"a client without TLS", a.serves(), nil, "it speaks TLS, this side does not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &journal{}
			l := listen(t, Network{ServerTLS: c.server, Log: log.logger()}, echo)
			conn, err := Network{ClientTLS: c.client}.Dial(t.Context(), l.Addr())
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				wellServed(t, conn)
				return
			}
			fits := false
			for text := range strings.SplitSeq(c.want, "|") {
				fits = fits || err != nil && strings.Contains(err.Error(), text)
			}
			if shake, ok := errors.AsType[*HandshakeError](err); !ok || shake.Kind != ErrTLS || !fits {
				t.Errorf("%v, want %v with %q", err, ErrTLS, c.want)
			}
			for c.server != nil && !strings.Contains(log.text(), "no encrypted connection") {
				if t.Context().Err() != nil {
					t.Fatalf("the log says %q", log.text())
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// Versions before 1.3 are not spoken.
func TestOldTLS(t *testing.T) {
	a := newAuthority(t)
	l := listen(t, Network{ServerTLS: a.serves(), Log: (&journal{}).logger()}, echo)
	old := a.dials()
	old.ServerName, old.MaxVersion = "127.0.0.1", tls.VersionTLS12
	if c, err := tls.Dial("tcp", l.Addr(), old); err == nil {
		c.Close()
		t.Error("TLS 1.2 was spoken")
	}
}

// Somebody who has no token is told the same whatever he sends, and nothing of the server.
func TestStrangerLearnsNothing(t *testing.T) {
	secret := access.NewSecret()
	table := access.NewTable([]access.Token{{Name: "ann", Key: secret.Key(), Rights: access.Write}})
	log := &journal{}
	l := listen(t, Network{Name: "srv", Tokens: table, Log: log.logger()}, echo)
	wrong := access.NewSecret().Prove(access.NewChallenge(), nil)
	replayed := secret.Prove(access.NewChallenge(), nil)
	old := hello{}.bytes()
	old[8] = 1
	greeting := string(hello{limit: 1 << 20, name: "me"}.bytes())
	prove := func(b []byte) string { return string(hello{status: helloProve, name: string(b)}.bytes()) }
	refused, challenged := string(hello{status: helloRefused}.bytes()), hello{status: helloProve}.bytes()[:helloHead+2]
	for _, c := range []struct{ name, send, second, want string }{
		{"version", string(old), "", string(hello{status: helloVersion}.bytes())},
		{"noise", strings.Repeat("x", 100), "", string(hello{status: helloMagic}.bytes())},
		{"another's secret", greeting, prove(wrong[:]), refused},
		{"a proof of another challenge", greeting, prove(replayed[:]), refused},
		{"a short proof", greeting, prove(wrong[:40]), refused},
		{"nothing proven", greeting, greeting, refused},
		{"noise in place of a proof", greeting, strings.Repeat("y", 80), refused},
		{"a request in place of a proof", greeting, string(request(1, &rpc.Request{})) + strings.Repeat("\x00", 50), refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := connect(t, l)
			r.put([]byte(c.send))
			if c.second != "" {
				h, err := readHello(r.Conn, "server")
				if err != nil || len(h.name) != access.ChallengeSize || h != (hello{status: helloProve, name: h.name}) ||
					string(h.bytes()[:len(challenged)]) != string(challenged) {
					t.Fatalf("the challenge is %+v, error %v", h, err)
				}
				r.put([]byte(c.second))
			}
			if err := r.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r.Conn)
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, error %v, want %q", got, err, c.want)
			}
		})
	}
	for name, s := range map[string]*access.Secret{"none": nil, "another": new(access.NewSecret())} {
		_, err := Network{Secret: s}.Dial(t.Context(), l.Addr())
		if shake, ok := errors.AsType[*HandshakeError](err); !ok || shake.Kind != ErrToken || strings.Contains(err.Error(), "ann") {
			t.Errorf("%s: %v, want %v", name, err, ErrToken)
		}
	}
	c := dial(t, Network{Secret: &secret}, l)
	wellServed(t, c)
	if strings.Contains(log.text(), secret.Text()[:10]) {
		t.Error("the log has the secret")
	}
}

// The handler knows whose requests it gets; the connections of a token that is removed end, and say why.
func TestRemovedToken(t *testing.T) {
	ann, bob := access.NewSecret(), access.NewSecret()
	tokens := []access.Token{{Name: "ann", Key: ann.Key(), Rights: access.Write}, {Name: "bob", Key: bob.Key(), Rights: access.Read}}
	table := access.NewTable(tokens)
	l := listen(t, Network{Tokens: table, Log: (&journal{}).logger()}, func(x *rpc.Exchange) {
		x.Answer(&rpc.Response{Results: []rpc.Result{{Data: []byte(x.From.Grant.Name() + " " + x.From.Grant.Rights().String())}}})
	})
	ask := func(c rpc.Conn) string {
		r, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context())
		if err != nil {
			return err.Error()
		}
		defer r.Release()
		return string(r.Results[0].Data)
	}
	a, b := dial(t, Network{Secret: &ann}, l), dial(t, Network{Secret: &bob}, l)
	if got := ask(a) + "; " + ask(b); got != "ann write; bob read" {
		t.Errorf("got %s", got)
	}
	table.Replace(tokens[1:])
	gone := make(chan string)
	go func() {
		for {
			if text := ask(a); !strings.HasPrefix(text, "ann") {
				gone <- text
				return
			}
		}
	}()
	if text := <-gone; !strings.Contains(text, "the token is not valid any more") {
		t.Errorf("the connection of the removed token: %s", text)
	}
	if got := ask(b); got != "bob read" {
		t.Errorf("the other one: %s", got)
	}
	if _, err := (Network{Secret: &ann}).Dial(t.Context(), l.Addr()); !errors.Is(err, ErrToken) {
		t.Errorf("coming again: %v, want %v", err, ErrToken)
	}
}
