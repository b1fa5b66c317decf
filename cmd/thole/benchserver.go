package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"thole.example/bench"
)

// serve finds or starts the servers. stop ends those that were started.
func (f *benchFlags) serve(ctx context.Context, e *env) (stop func(), err error) {
	net, err := f.trust.network()
	if err != nil {
		return nil, err
	}
	net.NoChecksum = f.noChecksum
	f.Network = net
	switch {
	case f.What == "table":
		return func() {}, nil
	case len(f.servers) > 0:
		f.Servers, err = e.serverAddresses(ctx, "--servers", f.servers, defaultWait)
		return func() {}, err
	case f.inProcess:
		c, err := embed(ctx, f.processes, nil, e.paths)
		if err != nil {
			return nil, err
		}
		f.Network, f.Servers = c.net, c.addrs
		return c.stop, nil
	}
	var started []*exec.Cmd
	stop = func() {
		for _, c := range started {
			_ = c.Process.Kill() // it holds nothing that anybody wants
			_ = c.Wait()
		}
	}
	for range f.processes {
		c, addr, err := f.start(ctx, e)
		if err != nil {
			stop()
			return nil, err
		}
		started = append(started, c)
		f.Servers = append(f.Servers, addr)
	}
	f.Server = func() (cpu time.Duration, peak int64) {
		for _, c := range started {
			cpu += bench.TimeOf(c.Process.Pid)
			peak += bench.PeakOf(strconv.Itoa(c.Process.Pid))
		}
		return cpu, peak
	}
	return stop, nil
}

// start starts this binary as a server, which ends with ctx or this process, and answers with its address.
func (f *benchFlags) start(ctx context.Context, e *env) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	args := []string{"server", "--listen", "127.0.0.1:0", "--quiet", "--" + tiedFlag}
	if f.memory != "" {
		args = append(args, "--memory", f.memory)
	}
	if f.scratch != "" {
		args = append(args, "--scratch", f.scratch)
	}
	if f.noChecksum {
		args = append(args, "--no-checksum")
	}
	if f.trust.encrypted() {
		args = append(args, "--tls-cert", f.trust.cert, "--tls-key", f.trust.key, "--tls-clients", f.trust.ca)
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Stderr, c.Env = raw(e.err), flagsOnly(e.root)
	if _, err := c.StdinPipe(); err != nil { // nobody writes: it is open until this process ends, or c.Wait
		return nil, "", err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening at ")
	if err != nil || !ok {
		_ = c.Process.Kill()
		_ = c.Wait()
		return nil, "", fmt.Errorf("the server process said %q, want the address that it listens at", line)
	}
	return c, addr, nil
}
