package kubernetes

import (
	"slices"
	"strings"

	"thole.example/coord"
	"thole.example/coord/kube"
)

// cluster is the name of the coordination cluster of each launch: that of the flag --cluster where nobody sets it.
const cluster = "thole"

// MonitoringLabel is the label of namespaces whose pods may reach the admin addresses of servers, with the value "true".
const MonitoringLabel = "thole.example/monitoring"

// overlaid is the number of servers to which an overlay can change a manifest without changing its Role.
const overlaid = 16

// leases are the names of the Leases of the launch: those of its servers, and of its job.
func (l *Launch) leases() (names []string) {
	job := "job"
	for _, word := range l.WorkerArgs {
		if name, is := strings.CutPrefix(word, "--job="); is {
			job = name
		}
	}
	for _, key := range coord.Keys(cluster, max(l.Servers, overlaid), job) {
		names = append(names, kube.LeaseName(l.Name, key))
	}
	return names
}

// JobLease is the name of the Lease that records the attempts of the job of a launch.
func (l *Launch) JobLease() string {
	all := l.leases()
	return all[len(all)-1]
}

// rights let the pods claim roles and find their holders, and nothing else: they change no lease but those of the launch. RBAC cannot
// limit what is created or listed by name.
func (l *Launch) rights() []Object {
	rule := func(names []string, verbs ...string) object {
		return object{{"apiGroups", []string{"coordination.k8s.io"}}, {"resources", []string{"leases"}}, {"resourceNames", names},
			{"verbs", verbs}}
	}
	return []Object{
		l.object("Role", l.Name, object{{"rules", []object{rule(nil, "list", "watch", "create"), rule(l.leases(), "get", "update")}}}),
		l.object("RoleBinding", l.Name, object{
			{"roleRef", object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", l.Name}}},
			{"subjects", []object{{{"kind", "ServiceAccount"}, {"name", l.Name}, {"namespace", l.Namespace}}}},
		}),
	}
}

// policy admits the pods of the launch to its servers, and pods of monitoring namespaces to their admin addresses. Nothing else reaches a
// pod of the launch, except the kubelet of its node.
func (l *Launch) policy() Object {
	port := func(n int) field { return field{"ports", []object{{{"port", n}, {"protocol", "TCP"}}}} }
	own := object{{"matchLabels", object{{LaunchLabel, l.Name}}}}
	watching := object{{"matchLabels", object{{MonitoringLabel, "true"}}}}
	return l.object("NetworkPolicy", l.Name, object{{"spec", object{
		{"podSelector", own},
		{"policyTypes", []string{"Ingress"}},
		{"ingress", []object{
			{{"from", []object{{{"podSelector", own}}}}, port(serverPort)},
			{{"from", []object{{{"namespaceSelector", watching}}}}, port(adminPort)},
		}},
	}}})
}

// grounds are what all pods of the launch need.
func (l *Launch) grounds() []Object {
	all := append([]Object{l.object("ServiceAccount", l.Name, object{{"automountServiceAccountToken", always{false}}})}, l.rights()...)
	if !l.Insecure {
		all = append(all, l.policy())
	}
	return slices.Concat(all, l.files())
}
