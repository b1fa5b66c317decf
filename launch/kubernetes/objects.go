package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// resource is a kind of objects in the API.
type resource struct{ kind, version, plural string }

// resources is the table of what launches are made of, in the order in which it is made; it is removed the other way round.
func resources() []resource {
	return []resource{
		{"ServiceAccount", "v1", "serviceaccounts"},
		{"Role", "rbac.authorization.k8s.io/v1", "roles"},
		{"RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings"},
		{"NetworkPolicy", "networking.k8s.io/v1", "networkpolicies"},
		{"ConfigMap", "v1", "configmaps"},
		{"Secret", "v1", "secrets"},
		{"Service", "v1", "services"},
		{"PodDisruptionBudget", "policy/v1", "poddisruptionbudgets"},
		{"StatefulSet", "apps/v1", "statefulsets"},
		{"Job", "batch/v1", "jobs"},
		{"JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets"},
		{JobKind, JobGroup + "/" + JobVersion, "tholejobs"}, // before what its operator would make again
	}
}

// path is that of all objects of the kind in a namespace.
func (r resource) path(namespace string) string {
	root := "/api/"
	if strings.Contains(r.version, "/") {
		root = "/apis/"
	}
	return root + r.version + "/namespaces/" + namespace + "/" + r.plural
}

// Objects are those of the launch, which Check has found right.
func (l *Launch) Objects() []Object {
	switch {
	case l.Operator:
		return []Object{l.tholeJob()}
	case l.JobSet:
		return append(slices.Concat(l.grounds(), l.secretObjects()), l.jobSet())
	}
	return append(slices.Concat(l.grounds(), l.secretObjects(), l.serving()), l.workers())
}

// ServerObjects are those of the launch without its Secret and its workers.
func (l *Launch) ServerObjects() []Object { return slices.Concat(l.grounds(), l.serving()) }

// serving are the servers.
func (l *Launch) serving() []Object { return []Object{l.service(), l.budget(), l.servers()} }

// files are the ConfigMap of the files of settings, if there are any.
func (l *Launch) files() []Object {
	if len(l.Files) == 0 {
		return nil
	}
	var data object
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		data = append(data, field{name, l.Files[name]})
	}
	return []Object{l.object("ConfigMap", l.Name, object{{"data", data}})}
}

// object is one of a kind of the table.
func (l *Launch) object(kind, name string, rest object) Object {
	all := resources()
	r := all[slices.IndexFunc(all, func(r resource) bool { return r.kind == kind })]
	labels, queued := l.labels(""), slices.Contains([]string{"StatefulSet", "Job", "JobSet"}, kind)
	if l.Queue != "" && queued {
		labels = append(labels, field{queueLabel, l.Queue})
	}
	body := object{{"apiVersion", r.version}, {"kind", kind},
		{"metadata", object{{"name", name}, {"namespace", l.Namespace}, {"labels", labels}}}}
	return Object{Kind: kind, Name: name, resource: r, namespace: l.Namespace, body: append(body, rest...)}
}

// labels are those of an object, or of the pods of a component.
func (l *Launch) labels(component string) object {
	return object{{"app.kubernetes.io/name", "thole"}, {"app.kubernetes.io/instance", l.Name}, {"app.kubernetes.io/managed-by", "thole"},
		{componentLabel, component}, {LaunchLabel, l.Name}}
}

// selector finds the pods of a component.
func (l *Launch) selector(component string) object {
	return object{{"matchLabels", object{{componentLabel, component}, {LaunchLabel, l.Name}}}}
}

func (l *Launch) service() Object {
	return l.object("Service", l.Name, object{{"spec", object{
		{"clusterIP", "None"},
		{"publishNotReadyAddresses", true}, // a server that waits for its role is not ready, and reached all the same
		{"selector", object{{componentLabel, server}, {LaunchLabel, l.Name}}},
		{"ports", []object{{{"name", "thole"}, {"port", serverPort}}, {{"name", "admin"}, {"port", adminPort}}}},
	}}})
}

func (l *Launch) budget() Object {
	return l.object("PodDisruptionBudget", l.Name+"-server", object{{"spec", object{
		{"maxUnavailable", 1}, {"unhealthyPodEvictionPolicy", "AlwaysAllow"}, {"selector", l.selector(server)},
	}}})
}

func (l *Launch) servers() Object {
	index := object{{"fieldRef", object{{"fieldPath", "metadata.labels['apps.kubernetes.io/pod-index']"}}}}
	return l.object("StatefulSet", l.Name+"-server", object{{"spec", object{
		{"serviceName", l.Name},
		{"replicas", l.Servers},
		{"podManagementPolicy", "Parallel"},
		{"selector", l.selector(server)},
		{"template", l.pod(server, "", []object{{{"name", "SERVER_INDEX"}, {"valueFrom", index}}})},
	}}})
}

func (l *Launch) workers() Object {
	return l.object("Job", l.Name+"-worker", object{{"spec", l.workerJob()}})
}

// workerJob is the workers. A pod that ends with 1 or 2 would do so however often it is started; what the cluster does to pods, and what a
// retry cures (75), is not counted.
func (l *Launch) workerJob() object {
	codes := func(action string, codes ...int) object {
		return object{{"action", action}, {"onExitCodes", object{{"containerName", worker}, {"operator", "In"}, {"values", codes}}}}
	}
	return object{
		{"completionMode", "Indexed"},
		{"completions", l.Workers},
		{"parallelism", l.Workers},
		{"backoffLimitPerIndex", l.Restarts},
		{"maxFailedIndexes", always{0}}, // the others would wait for it
		{"podFailurePolicy", object{{"rules", []object{
			codes("FailJob", 1, 2),
			{{"action", "Ignore"}, {"onPodConditions", []object{{{"type", "DisruptionTarget"}, {"status", "True"}}}}},
			codes("Ignore", 75),
		}}}},
		{"template", l.pod(worker, "Never", nil)},
	}
}

// jobSet is servers and workers in one object, which ends with the workers. Its servers are a Job whose pods are started again where they
// are.
func (l *Launch) jobSet() Object {
	index := object{{"fieldRef", object{{"fieldPath", "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}}
	servers := object{
		{"completionMode", "Indexed"}, {"completions", l.Servers}, {"parallelism", l.Servers}, {"backoffLimit", 1 << 30},
		{"template", l.pod(server, "OnFailure", []object{{{"name", "SERVER_INDEX"}, {"valueFrom", index}}})},
	}
	job := func(name string, spec object) object {
		return object{{"name", name}, {"replicas", 1}, {"template", object{{"spec", spec}}}}
	}
	return l.object("JobSet", l.Name, object{{"spec", object{
		{"successPolicy", object{{"operator", "All"}, {"targetReplicatedJobs", []string{worker}}}},
		{"replicatedJobs", []object{job(server, servers), job(worker, l.workerJob())}},
	}}})
}

// pod is the template of the pods of a component.
func (l *Launch) pod(component, restart string, env []object) object {
	volumes, mounts := l.volumes(component)
	var from []object
	for _, name := range l.EnvSecrets {
		from = append(from, object{{"secretRef", object{{"name", name}}}})
	}
	env = slices.Concat([]object{fromField("POD_IP", "status.podIP"), fromField("POD_NAME", "metadata.name"),
		fromField("POD_NAMESPACE", "metadata.namespace")}, env)
	if component == worker { // an overlay changes the counts here
		env = append(env, object{{"name", "SERVERS"}, {"value", strconv.Itoa(l.Servers)}},
			object{{"name", "WORKERS"}, {"value", strconv.Itoa(l.Workers)}})
	}
	container := object{
		{"name", component}, {"image", l.Image}, {"imagePullPolicy", l.PullPolicy}, {"args", l.args(component)},
		{"env", append(env, l.variables()...)}, {"envFrom", from},
		{"resources", l.asked(component)},
		{"securityContext", harmless()},
		{"volumeMounts", mounts},
		{"terminationMessagePolicy", "FallbackToLogsOnError"}, // so that it is known what a process said last
	}
	if component == server {
		container = append(container, l.probes()...)
	}
	spec := append(l.podOf(l.Name, restart), object{
		{"terminationGracePeriodSeconds", int64(l.Grace / time.Second)},
		{"topologySpreadConstraints", []object{{{"maxSkew", 1}, {"topologyKey", "kubernetes.io/hostname"},
			{"whenUnsatisfiable", "ScheduleAnyway"}, {"labelSelector", l.selector(component)}}}},
		{"tolerations", l.tolerations()},
		{"containers", []object{container}},
		{"volumes", volumes},
	}...)
	return object{{"metadata", object{{"labels", l.labels(component)}}}, {"spec", spec}}
}

// podOf is what the specs of all pods of the launch have in common, which have the rights of an account.
func (l *Launch) podOf(account, restart string) object {
	var secrets []object
	for _, name := range l.PullSecrets {
		secrets = append(secrets, object{{"name", name}})
	}
	var selector object
	for _, key := range slices.Sorted(maps.Keys(l.NodeSelector)) {
		selector = append(selector, field{key, l.NodeSelector[key]})
	}
	return object{
		{"serviceAccountName", account},
		{"automountServiceAccountToken", true},
		{"enableServiceLinks", always{false}}, // variables of services could be taken for settings
		{"restartPolicy", restart},
		{"nodeSelector", selector},
		{"imagePullSecrets", secrets},
		{"securityContext", object{{"runAsNonRoot", true}, {"runAsUser", l.User}, {"runAsGroup", l.User}, {"fsGroup", l.User},
			{"seccompProfile", object{{"type", "RuntimeDefault"}}}}},
	}
}

// harmless is the security context of each container.
func harmless() object {
	return object{{"allowPrivilegeEscalation", always{false}}, {"readOnlyRootFilesystem", true},
		{"capabilities", object{{"drop", []string{"ALL"}}}}}
}

// fromField is a variable with the value of a field of the pod.
func fromField(name, path string) object {
	return object{{"name", name}, {"valueFrom", object{{"fieldRef", object{{"fieldPath", path}}}}}}
}

// variables are those of the environment that the user has set.
func (l *Launch) variables() (all []object) {
	for _, v := range l.Env {
		all = append(all, object{{"name", v.Name}, {"value", escape(v.Value)}})
	}
	return all
}

// tolerations say how long pods stay on a node that does not answer.
func (l *Launch) tolerations() (all []object) {
	if l.NodePatience == 0 {
		return nil
	}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		all = append(all, object{{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"},
			{"tolerationSeconds", int64(l.NodePatience / time.Second)}})
	}
	return all
}

// asked is what a pod asks for and may take: the same, so that it is not the first that a node without room ends, and its limit of
// processors is what Go takes for the number of threads.
func (l *Launch) asked(component string) object {
	r := map[string]Resources{server: l.Server, worker: l.Worker}[component]
	amounts := object{{"cpu", r.CPU}, {"memory", r.Memory}}
	return object{{"requests", amounts}, {"limits", amounts}}
}

// args is the command line: who the process is, and what Launch says. The namespace and the counts are variables, so that an overlay can
// change them.
func (l *Launch) args(component string) []string {
	coordinate := "--coordinate=kube:///$(POD_NAMESPACE)/" + l.Name
	own := l.ServerArgs
	var args []string
	if component == server {
		// The brackets are for addresses of IPv6. No other pod has its address, so a server that is started again there has its role at once.
		args = []string{server, fmt.Sprintf("--listen=[$(POD_IP)]:%d", serverPort), fmt.Sprintf("--admin=[$(POD_IP)]:%d", adminPort),
			coordinate, "--role=$(SERVER_INDEX)"}
	} else {
		task := "--task=$(JOB_COMPLETION_INDEX)"
		if l.Shares {
			task += "/$(WORKERS)"
		}
		args = []string{worker, coordinate, "--servers=$(SERVERS)", task}
		own = l.WorkerArgs
	}
	args = append(args, l.guards(component)...)
	for _, word := range own {
		if component == worker && !l.Shares && word == fmt.Sprintf("--tasks=%d", l.Workers) {
			args = append(args, "--tasks=$(WORKERS)")
			continue
		}
		args = append(args, escape(word))
	}
	return args
}

// guards are the flags of tokens and TLS.
func (l *Launch) guards(component string) (args []string) {
	if l.tls() != "" && component == server {
		args = append(args, "--tls-cert="+TLSFolder+"/"+certKey, "--tls-key="+TLSFolder+"/"+keyKey)
	}
	if l.tls() != "" && component == worker {
		args = append(args, "--tls-ca="+TLSFolder+"/"+caKey, "--tls-name="+l.Name+".$(POD_NAMESPACE).svc") // TLSName
	}
	if l.token() != "" && component == server {
		args = append(args, "--tokens="+TokensFolder+"/"+tokensKey)
	}
	if l.token() != "" && component == worker {
		args = append(args, "--token-file="+TokensFolder+"/"+secretKey)
	}
	return args
}

// TLSName is the name that the certificate of the TLS Secret must have.
func (l *Launch) TLSName() string { return l.Name + "." + l.Namespace + ".svc" }

// escape is a word that Kubernetes leaves as it is: it would replace $(NAME).
func escape(word string) string { return strings.ReplaceAll(word, "$", "$$") }

// probes ask a server whether it is there, and takes work.
func (l *Launch) probes() object {
	get := func(path string) field {
		scheme := ""
		if l.tls() != "" {
			scheme = "HTTPS"
		}
		return field{"httpGet", object{{"path", path}, {"port", adminPort}, {"scheme", scheme}}}
	}
	return object{
		{"ports", []object{{{"name", "thole"}, {"containerPort", serverPort}}, {{"name", "admin"}, {"containerPort", adminPort}}}},
		{"readinessProbe", object{get("/readyz"), {"periodSeconds", 2}, {"timeoutSeconds", 2}}},
		{"livenessProbe", object{get("/healthz"), {"periodSeconds", 10}, {"timeoutSeconds", 5}, {"failureThreshold", 6}}},
	}
}
