package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thole.example/admin"
	"thole.example/coord"
)

// statusFlags are what the user said.
type statusFlags struct {
	trust trust
	json  bool
	watch bool
	every time.Duration
	times int
	from  coordination // where servers have their roles, and no ADDR is given; no cluster: all
}

func statusCommand(e *env) *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [ADDR...]",
		Short: "Show what running servers do",
		Long: `Shows jobs with their tasks and clocks, who waits for whom, matrices, memory, and how many requests of each operation there were
and how long they took. ADDR is the --admin address of a server, host:port or unix:/path,
or names several, like ps-{0..2}.ps:9001. A server that asks for tokens wants one
that may administer. Latencies are of all requests since the server began, and with --watch of those since the look before; a
latency has about the precision of a factor of two. With --json each look is one line, an array of what the servers answered.

With --coordinate it shows who is which server of a cluster, and what was committed of its jobs, as thole coordinate status does.`,
		Example: "  thole status 127.0.0.1:9001\n  thole status host1:9001 host2:9001 --watch --tls-ca ca.pem --token-file admin.secret\n" +
			"  thole status --coordinate etcd://host0:2379",
		RunE: func(c *cobra.Command, addrs []string) error { return f.run(c.Context(), e, addrs) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&f.watch, "watch", false, "look again and again, until Ctrl-C; on a terminal in place")
	c.Flags().DurationVar(&f.every, "every", 2*time.Second, "time between two looks")
	c.Flags().IntVar(&f.times, "times", 0, "end after so many looks; 0: none of --watch, else one")
	c.Flags().StringVar(&f.from.url, "coordinate", "", "show the clusters in this store, a URL (see thole coordinate status --help)")
	c.Flags().StringVar(&f.from.cluster, "cluster", "", "with --coordinate: only this cluster (default: all)")
	f.trust.flags(c.Flags())
	return c
}

// look is what a server answered.
type look struct {
	addr   string
	at     time.Time
	status *admin.Status
	err    error
}

func (f *statusFlags) run(ctx context.Context, e *env, addrs []string) error {
	if f.every < 100*time.Millisecond || f.times < 0 {
		return usageError{fmt.Errorf("--every %v --times %d, want at least 100ms, and 0 or more", f.every, f.times)}
	}
	switch {
	case f.from.url != "" && (len(addrs) > 0 || f.watch || f.times > 0):
		return usageError{errors.New("--coordinate with ADDR, --watch or --times, want it alone: it shows a store, and no server is asked")}
	case f.from.url != "":
		c := coordinateStatus{cluster: f.from.cluster, wait: coord.LeaseMax, json: f.json}
		return c.run(ctx, e, f.from.url)
	case len(addrs) == 0:
		return usageError{errors.New("no ADDR, want the --admin addresses of servers, or --coordinate URL")}
	}
	var clients []*adminClient
	for _, word := range addrs {
		some, err := e.serverAddresses(ctx, "ADDR", []string{word}, defaultWait)
		if err != nil {
			return err
		}
		for _, addr := range some {
			c, err := f.trust.admin(addr)
			if err != nil {
				return err
			}
			clients = append(clients, c)
		}
	}
	if f.times == 0 && !f.watch {
		f.times = 1
	}
	var before []look
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for n := 1; ; n++ {
		now := lookAll(ctx, e, clients)
		if ctx.Err() != nil {
			return nil // that is how watching ends
		}
		if err := f.show(e, now, before, n); err != nil || n == f.times {
			return errors.Join(err, firstError(now))
		}
		before = now
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// firstError is why there was no answer from a server, if there was none.
func firstError(all []look) error {
	for _, l := range all {
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

// lookAll asks all servers at once.
func lookAll(ctx context.Context, e *env, clients []*adminClient) []look {
	all := make([]look, len(clients))
	done := make(chan struct{})
	for i, c := range clients {
		go func() {
			s, err := c.status(ctx)
			all[i] = look{c.addr, e.now(), s, err}
			done <- struct{}{}
		}()
	}
	for range clients {
		<-done
	}
	return all
}

// show prints a look: n-th of this command.
func (f *statusFlags) show(e *env, now, before []look, n int) error {
	var b bytes.Buffer
	if f.json {
		answers := make([]any, len(now))
		for i, l := range now {
			answers[i] = l.status
			if l.err != nil {
				answers[i] = map[string]string{"admin": l.addr, "error": l.err.Error()}
			}
		}
		if err := json.NewEncoder(&b).Encode(answers); err != nil {
			return err
		}
		_, err := e.out.Write(b.Bytes())
		return err
	}
	for i := range now {
		if i > 0 {
			b.WriteByte('\n')
		}
		var earlier *look
		if before != nil && before[i].status != nil {
			earlier = &before[i]
		}
		printStatus(&b, &now[i], earlier)
	}
	switch {
	case f.watch && terminal(e.out):
		text := strings.ReplaceAll(b.String(), "\n", "\x1b[K\n") // each line without what stood there before
		if n == 1 {
			text = "\x1b[2J" + text
		}
		_, err := fmt.Fprintf(e.out, "\x1b[H%s\x1b[J", text)
		return err
	case n > 1:
		b = *bytes.NewBuffer(append([]byte{'\n'}, b.Bytes()...))
	}
	_, err := e.out.Write(b.Bytes())
	return err
}

// adminClient asks one server.
type adminClient struct {
	addr, url, secret string
	http.Client
}

const (
	statusLimit = 64 << 20 // bytes of an answer
	statusTime  = 10 * time.Second
)

// admin is how to ask the server at an admin address.
func (t *trust) admin(addr string) (*adminClient, error) {
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	secret, err := t.secret()
	if err != nil {
		return nil, err
	}
	c := &adminClient{addr: addr}
	if secret != nil {
		if config == nil && exposed(addr) {
			return nil, usageError{fmt.Errorf("%s: the token would cross the network in clear, want --tls-ca or --tls", addr)}
		}
		c.secret = secret.Text()
	}
	network, place, host := "tcp", addr, addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, place, host = "unix", path, "localhost"
	}
	if _, _, err := net.SplitHostPort(addr); network == "tcp" && err != nil {
		return nil, usageError{fmt.Errorf("%s: want the --admin address of a server, host:port or unix:/path", addr)}
	}
	c.url = "http://" + host + "/status"
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, place)
	}}
	if config != nil {
		c.url = "https://" + host + "/status"
		transport.TLSClientConfig = config.Clone()
		transport.TLSClientConfig.MinVersion = tls.VersionTLS13
	}
	c.Client = http.Client{Transport: transport, Timeout: statusTime}
	return c, nil
}

func (c *adminClient) status(ctx context.Context) (*admin.Status, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return nil, err
	}
	if c.secret != "" {
		q.Header.Set("Authorization", "Bearer "+c.secret)
	}
	r, err := c.Do(q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.addr, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, statusLimit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.addr, err)
	}
	switch {
	case r.StatusCode == http.StatusUnauthorized:
		return nil, fmt.Errorf("%s: it wants a token that may administer (--token-file)", c.addr)
	case r.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: HTTP status %d, want that of a server's --admin address", c.addr, r.StatusCode)
	case len(text) > statusLimit:
		return nil, fmt.Errorf("%s: an answer of more than %d bytes", c.addr, statusLimit)
	}
	var s admin.Status
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: not the answer of a server: %w", c.addr, err)
	}
	return &s, nil
}
