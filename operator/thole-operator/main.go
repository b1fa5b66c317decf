// Command thole-operator runs TholeJobs on Kubernetes: it makes servers and workers of them, and makes workers again that were lost. It is
// a program of its own, in a module of its own, because what it is made of would make every thole larger by a half.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"thole.example/internal/command"
	"thole.example/internal/variables"
	"thole.example/operator/control"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a command line and answers with the exit code.
func run(args []string, out, said io.Writer) int {
	return command.Run(program(said), "thole-operator", args, out, said)
}

// operator is what the user said.
type operator struct {
	namespaces      []string
	health, metrics string
	alone           bool
	electionSpace   string
	lease           time.Duration
	jobs            int
	verbose         bool
	said            io.Writer
}

func program(said io.Writer) *cobra.Command {
	o := &operator{said: said}
	c := &cobra.Command{
		Use:   "thole-operator",
		Short: "Run TholeJobs on Kubernetes",
		Long: `Runs until it is interrupted, and has Kubernetes train what TholeJobs say: it makes servers and workers, makes workers again that
were lost, ends servers when all workers are done, and tells in the status of a job how far it is (docs/kubernetes.md). Of several that run,
one works at a time. The cluster is that of $KUBECONFIG, in a pod that of its service account, else that of ~/.kube/config.

A flag that is not given is taken from its environment variable, if that is set: --namespace from ` + variables.Of("namespace") + `.`,
		Example: "  thole-operator\n  thole-operator --namespace models --alone --metrics 0",
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.namespaces, "namespace", nil, "namespaces whose jobs it runs (default: all)")
	f.StringVar(&o.health, "health", ":8081", "address of /healthz and /readyz; 0: none")
	f.StringVar(&o.metrics, "metrics", ":8080", "address of /metrics; 0: none")
	f.BoolVar(&o.alone, "alone", false, "nobody else runs: work at once, and hold no lease")
	f.StringVar(&o.electionSpace, "lease-namespace", "", "namespace of the lease by which one of several works (default: that of its pod)")
	f.DurationVar(&o.lease, "lease", 8*time.Second, "how long one that is silent keeps that lease")
	f.IntVar(&o.jobs, "jobs", 8, "how many jobs it looks at at once")
	f.BoolVar(&o.verbose, "verbose", false, "tell of what is tried")
	return c
}

// run runs the operator.
func (o *operator) run(ctx context.Context) error {
	if o.lease < 3*time.Second || o.jobs < 1 {
		return fmt.Errorf("--lease %v --jobs %d, want 3s or more, and one job or more; %w", o.lease, o.jobs, command.ErrUsage)
	}
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(o.said, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetSlogLogger(log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no Kubernetes: %w", err)
	}
	config.QPS = -1 // the API has limits of its own, which are fair
	seen, err := control.Cache(o.namespaces)
	if err != nil {
		return err
	}
	renew := o.lease * 2 / 3
	retry := o.lease / 8
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: clientgo.Scheme, Cache: seen, Metrics: metrics.Options{BindAddress: o.metrics},
		HealthProbeBindAddress: o.health, LeaderElection: !o.alone, LeaderElectionID: control.Name, LeaderElectionNamespace: o.electionSpace,
		LeaderElectionReleaseOnCancel: true, LeaseDuration: &o.lease, RenewDeadline: &renew, RetryPeriod: &retry})
	if err != nil {
		return err
	}
	c := &control.Controller{Client: m.GetClient(), Live: m.GetAPIReader(), Tell: m.GetEventRecorder(control.Name), Log: log}
	if err := errors.Join(c.Start(m, o.jobs), m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	return m.Start(ctx)
}
