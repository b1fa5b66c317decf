package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/internal/number"
	"thole.example/kubeapi"
	"thole.example/launch/kubernetes"
)

// kubeFlags are the flags of launches on Kubernetes.
type kubeFlags struct {
	kubePlace
	image, pullPolicy, store, scratchSize string
	volumes, env, envSecrets, pullSecrets []string
	tokenSecret, tlsSecret, queue         string
	user                                  int64
	nodes                                 map[string]string
	jobSet, keepObjects, operator         bool
	insecure                              bool
}

// kubeOwn are the flags that launches on Kubernetes take, of those that not all take.
func kubeOwn() []string {
	return append([]string{"image", "image-pull-policy", "image-pull-secret", "store", "volume", "env", "env-from-secret", "token-secret",
		"tls-secret", "insecure", "queue", "run-as", "node-selector", "scratch-size", "jobset", "operator", "keep-objects", "namespace",
		"context", "kubeconfig"}, farFlags...)
}

// kubePlace is the flags that say which cluster, and what in it.
type kubePlace struct{ namespace, context, kubeconfig string }

func (k *kubePlace) flags(f *pflag.FlagSet) {
	f.StringVar(&k.namespace, "namespace", "", "namespace in Kubernetes (default: that of the context, else default)")
	f.StringVar(&k.context, "context", "", "context of the kubeconfig file (default: the current one)")
	f.StringVar(&k.kubeconfig, "kubeconfig", "", "file that says where the cluster is, and who asks (default: $KUBECONFIG, in a pod its "+
		"service account, else ~/.kube/config)")
}

// cluster is the namespace. Nothing is asked yet.
func (k *kubePlace) cluster() (*kubernetes.Cluster, error) {
	var api *kubeapi.API
	var err error
	if k.kubeconfig != "" {
		api, err = kubeapi.FromFile(k.kubeconfig, k.context)
	} else {
		api, err = kubeapi.Find(os.Getenv, k.context)
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	api.Patience = kubePatience
	c := &kubernetes.Cluster{API: api, Namespace: cmp.Or(k.namespace, api.Namespace, "default")}
	if err := kubernetes.CheckObject(c.Namespace); err != nil {
		return nil, usageError{fmt.Errorf("--namespace %w", err)}
	}
	return c, nil
}

// kubePatience is how long an answer of the API may take, which may ask others.
const kubePatience = 30 * time.Second

// kubeLaunchFlags adds the flags.
func kubeLaunchFlags(f *pflag.FlagSet, l *launch) {
	k := &l.kube
	k.kubePlace.flags(f)
	f.StringVar(&k.image, "image", "", "image of thole that the nodes can pull")
	f.StringVar(&k.pullPolicy, "image-pull-policy", "", "when nodes pull it: Always, IfNotPresent or Never (default: the cluster's)")
	f.StringSliceVar(&k.pullSecrets, "image-pull-secret", nil, "secrets of registries that ask who comes")
	f.StringVar(&k.store, "store", "", "the servers' --store: a folder in a volume, or a URL such as s3://bucket/models, with paths "+
		"below it or URLs (default: the volume of --model, --checkpoint and --load, or their buckets)")
	f.StringArrayVar(&k.volumes, "volume", nil, "files that all pods have at a path, "+kubernetes.VolumeForm+"; kinds are "+
		kubernetes.VolumeHelp())
	f.StringArrayVar(&k.env, "env", nil, "variable of all pods, NAME=VALUE")
	f.StringSliceVar(&k.envSecrets, "env-from-secret", nil, "secrets whose keys are variables of all pods")
	f.StringVar(&k.tokenSecret, "token-secret", "", "Secret with the servers' --tokens in the key tokens, and in the key secret that of a "+
		"token for workers (default: NAME-access, which the launch creates)")
	f.StringVar(&k.tlsSecret, "tls-secret", "", "Secret with tls.crt, tls.key and ca.crt, for the name NAME.NAMESPACE.svc (default: "+
		"NAME-access, which the launch creates)")
	f.BoolVar(&k.insecure, "insecure", false, "create no keys and no NetworkPolicy: every pod of the cluster can read and change the models")
	f.StringVar(&k.queue, "queue", "", "queue of Kueue in which the launch waits for its turn")
	f.Int64Var(&k.user, "run-as", kubernetes.User, "number of the user and the group that pods run as, who may write to the volumes")
	pairsVar(f, &k.nodes, "node-selector", "labels of the nodes for the pods, NAME=VALUE")
	f.StringVar(&k.scratchSize, "scratch-size", "", "most that a pod may put into its folder for scratch files, a size like 20GiB (default: "+
		"as the node has)")
	f.BoolVar(&k.jobSet, "jobset", false, "make one JobSet (jobset.x-k8s.io) in place of StatefulSet and Job")
	f.BoolVar(&k.operator, "operator", false, "make one TholeJob, of which thole-operator makes the rest, in place of all objects")
	f.BoolVar(&k.keepObjects, "keep-objects", false, "leave servers and all else there when the training has ended")
}

// kubeLaunch trains by pods of a Kubernetes cluster.
func kubeLaunch(ctx context.Context, e *env, l *launch) error {
	if l.title == "" {
		l.title = kubernetes.Title(l.algo + "-" + e.now().Format("20060102-150405"))
	}
	namespace := l.kube.namespace
	var c *kubernetes.Cluster
	if !l.dryRun || namespace == "" && l.kube.context+l.kube.kubeconfig != "" {
		var err error
		if c, err = l.kube.cluster(); err != nil {
			return err
		}
		namespace = c.Namespace
	}
	k, err := l.pods(ctx, e, cmp.Or(namespace, "default"))
	if err != nil {
		return err
	}
	if l.dryRun {
		return kubernetes.Write(e.out, l.kubeHead(e, k), k.Objects())
	}
	if k.OwnsSecret() {
		secret, err := k.Secret(e.now())
		if err != nil {
			return err
		}
		k.Generated = &secret
	}
	return l.onCluster(ctx, e, c, k)
}

// kubeHead says what the manifest is.
func (l *launch) kubeHead(e *env, k *kubernetes.Launch) string {
	var words []string
	for _, word := range e.args {
		words = append(words, strings.NewReplacer("\n", " ", "\r", " ").Replace(word))
	}
	head := fmt.Sprintf(`# The launch %s: %s, in the namespace %s. It was written by
#   thole %s
`, k.Name, l.countsText(), k.Namespace, strings.Join(quoted(words), " "))
	if k.Operator {
		return head + "# kubectl apply -f - starts it, if the operator is there (deploy/operator); kubectl delete -f - removes all of it.\n"
	}
	return head + fmt.Sprintf(`# kubectl apply -f - starts it; kubectl delete -f - removes it, and what its servers leave:
#   kubectl delete leases -n %s -l thole.example/store=%s
`, k.Namespace, k.Name)
}

// onCluster applies the launch, and follows it to its end.
func (l *launch) onCluster(ctx context.Context, e *env, c *kubernetes.Cluster, k *kubernetes.Launch) (err error) {
	again, say := stopWords(k), sayer(e.err)
	if err := c.Free(ctx, k); err != nil {
		return err
	}
	_, hurry, over := twice()
	defer over()
	if err := c.Apply(ctx, k); err != nil {
		l.removed(ctx, c, k, hurry, say)
		return err
	}
	say("launch %s %s in the namespace %s", k.Name, l.countsText(), k.Namespace)
	if l.detach {
		say("thole launch status %s shows it, thole launch stop %[1]s removes it", again)
		_, err := fmt.Fprintln(e.out, k.Name)
		return err
	}
	err = (&kubernetes.Watcher{Cluster: c, Name: k.Name, Out: legible{e.out}, Say: say}).Watch(ctx)
	if l.kube.keepObjects && ctx.Err() == nil {
		say("it is left there; thole launch stop %s removes it", again)
	} else {
		l.removed(ctx, c, k, hurry, say)
	}
	if failed, ok := errors.AsType[*kubernetes.Failed](err); ok && failed.Code > 0 {
		return exitStatus{err, failed.Code}
	}
	return err
}

// stopWords are those by which commands find the launch.
func stopWords(k *kubernetes.Launch) string {
	return fmt.Sprintf("--on kubernetes --namespace %s --name %s", k.Namespace, k.Name)
}

// removed removes a launch that has ended, or was asked to.
func (l *launch) removed(ctx context.Context, c *kubernetes.Cluster, k *kubernetes.Launch, hurry <-chan struct{},
	say func(format string, args ...any)) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), kubernetes.Grace+kubePatience)
	defer cancel()
	if ctx.Err() != nil {
		say("it is being removed; asked once more its pods end at once")
	}
	if _, err := c.Remove(within, k.Name, hurry); err != nil {
		say("not all of it was removed (thole launch stop %s removes the rest): %v", stopWords(k), err)
	}
}

// sayer writes lines, also concurrently.
func sayer(out io.Writer) func(format string, args ...any) {
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, escaped(fmt.Sprintf(format, args...)))
	}
}

// kubeKeeper looks after launches on Kubernetes.
type kubeKeeper struct {
	kubePlace
	name string
}

func (k *kubeKeeper) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.name, "name", "", "name of a launch on Kubernetes")
	k.kubePlace.flags(c.Flags())
}

// find is the cluster of a launch that is named.
func (k *kubeKeeper) find() (*kubernetes.Cluster, error) {
	if err := kubernetes.CheckName(k.name); err != nil {
		return nil, usageError{fmt.Errorf("--name %w", err)}
	}
	return k.cluster()
}

func (k *kubeKeeper) status(ctx context.Context, e *env, args []string, asJSON bool) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q with --on kubernetes, want --name NAME: such a launch has no folder", args[0])}
	}
	c, err := k.find()
	if err != nil {
		return err
	}
	return kubeStatus(ctx, e, c, k.name, asJSON)
}

func (k *kubeKeeper) logs(ctx context.Context, e *env, args []string, follow bool) error {
	c, err := k.find()
	if err != nil {
		return err
	}
	pods, err := c.Pods(ctx, k.name)
	if err != nil {
		return err
	}
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("kubernetes: %s in the namespace %s: %w, or it has no pods any more", k.name, c.Namespace, kubernetes.ErrNone)
	case len(args) > 1:
		return usageError{fmt.Errorf("%q and %q, want one pod at most", args[0], args[1])}
	case len(args) == 1 && !slices.Contains(names, args[0]):
		return usageError{fmt.Errorf("pod %q, want one of %s", args[0], strings.Join(names, ", "))}
	case len(args) == 1:
		return c.Log(ctx, args[0], legible{e.out}, follow, 0)
	}
	var all sync.WaitGroup
	errs, out := make([]error, len(names)), &oneByOne{out: legible{e.out}}
	for i, name := range names {
		one := func() { errs[i] = c.Log(ctx, name, &prefixed{out: out, prefix: name + " | "}, follow, 0) }
		if follow {
			all.Go(one)
		} else {
			one()
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (k *kubeKeeper) stop(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q with --on kubernetes, want --name NAME: such a launch has no folder", args[0])}
	}
	c, err := k.find()
	if err != nil {
		return err
	}
	n, err := c.Remove(ctx, k.name, nil)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("kubernetes: %s in the namespace %s: %w", k.name, c.Namespace, kubernetes.ErrNone)
	}
	_, err = fmt.Fprintf(e.out, "%s: %s removed\n", k.name, number.Of(n, "object"))
	return err
}
