package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"thole.example/launch/kubernetes"
)

// kubeState is a launch on Kubernetes in JSON.
type kubeState struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	kubernetes.Job
	Pods []kubernetes.Pod `json:"pods"`
}

// text says in a word how the launch is.
func (s *kubeState) text() string {
	switch {
	case s.Done:
		return "done"
	case s.Failed:
		return "failed: " + s.Why
	case s.Why != "":
		return s.Why
	}
	return "going"
}

// kubeStatus prints the state of a launch.
func kubeStatus(ctx context.Context, e *env, c *kubernetes.Cluster, name string, asJSON bool) error {
	job, err := c.Job(ctx, name)
	if err != nil {
		return err
	}
	pods, err := c.Pods(ctx, name)
	if err != nil {
		return err
	}
	s := &kubeState{name, c.Namespace, job, pods}
	if asJSON {
		return writeJSON(e.out, s)
	}
	out, now := legible{e.out}, e.now()
	fmt.Fprintf(out, "%s in the namespace %s: %s, begun %v ago\n\n", name, c.Namespace, s.text(), now.Sub(job.Began).Round(time.Second))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  process\tpod\tnode\taddress\tthere for\trestarts\tstate")
	for i := range pods {
		p := &pods[i]
		fmt.Fprintf(t, "  %s.%d\t%s\t%s\t%s\t%v\t%d\t%s\n", p.Component, p.Index, p.Name, orDash(p.Node), orDash(p.Address),
			now.Sub(p.Since).Round(time.Second), p.Restarts, p.State)
	}
	t.Flush()
	for i := range pods {
		if p := &pods[i]; p.Advice != "" {
			fmt.Fprintf(out, "\n%s: %s\n", p.Name, p.Advice)
		}
	}
	return nil
}

// oneByOne is written to by several.
type oneByOne struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (w *oneByOne) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// prefixed writes whole lines, each with what comes before it.
type prefixed struct {
	out    io.Writer
	prefix string
	rest   []byte // the beginning of a line
}

// Write implements io.Writer.
func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(p.out, "%s%s\n", p.prefix, line); err != nil {
			return 0, err
		}
		p.rest = rest
	}
}
