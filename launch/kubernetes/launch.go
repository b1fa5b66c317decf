// Package kubernetes trains by server and worker pods. Objects renders a Launch as objects of the API, without asking anybody; a Cluster
// applies and removes them, and a Watcher tells what becomes of the pods.
//
//	object                                name          what it is for
//	ServiceAccount, Role, RoleBinding     NAME          servers hold their roles by Leases of the namespace, and workers look them up
//	NetworkPolicy                         NAME          who reaches the servers: pods of the launch, and monitoring
//	ConfigMap                             NAME          files of settings that workers read
//	Secret                                NAME-access   certificate and tokens of the servers, unless others are named
//	Job, ServiceAccount, Role, RoleBinding NAME-keys    creates that Secret in the cluster, in manifests
//	Service, without an address           NAME          names of the server pods
//	StatefulSet                           NAME-server   servers, all started at once
//	PodDisruptionBudget                   NAME-server   one server at a time may be evicted
//	Job, by indices                       NAME-worker   workers
//	JobSet                                NAME          servers and workers in place of the three above, if it is asked for
//	TholeJob                              NAME          all of it, if it is for the operator, which makes pods of workers itself
//
// All have the label thole.example/launch=NAME, and pods app.kubernetes.io/component=server or worker, too. Leases, which servers make,
// have the label thole.example/store=NAME. Processes get what they are by their command line; secrets come as files.
package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Launch is what is to run.
type Launch struct {
	Name, Namespace string // as CheckName wants them
	Image           string
	PullPolicy      string   // Always, IfNotPresent or Never; "": the cluster's default
	PullSecrets     []string // names of secrets of registries

	Servers, Workers       int
	Server, Worker         Resources // of each
	ServerArgs, WorkerArgs []string  // words of their command lines, beside those that say who they are
	Shares                 bool      // there are more tasks than workers, which share them
	Restarts               int       // how often each worker is started again, at most, for what is not the cluster's doing
	Grace                  time.Duration

	Volumes      []Volume
	Env          []Variable
	EnvSecrets   []string          // whose keys are variables
	TokenSecret  string            // its key tokens is the servers' list, its key secret what workers come with; "": the launch's own
	TLSSecret    string            // its keys are tls.crt, tls.key and ca.crt, as of kubernetes.io/tls; "": the launch's own
	Insecure     bool              // no Secret of its own and no NetworkPolicy: every pod of the cluster can use the servers
	SecretMark   string            // of the launch's own Secret, of letters that names may have; "": none
	Generated    *Object           // the launch's own Secret, of [Launch.Secret]; nil: a Job creates it in the cluster
	Files        map[string]string // by name; workers have them in FilesFolder
	User         int64             // number of the user and the group that processes run as, not 0
	NodeSelector map[string]string
	ScratchSize  string        // of /tmp, a quantity; "": no limit
	NodePatience time.Duration // after which pods of a node that does not answer are made elsewhere, in whole seconds; 0: as the cluster says

	JobSet bool
	Queue  string // of Kueue; "": none

	Operator          bool   // it is one TholeJob, of which the operator makes the rest
	Store             string // of the servers, for the operator: a folder or a URL; "": that of their places
	said, serversSaid []Setting
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// Places in the pods.
const (
	FilesFolder   = "/etc/thole/files"
	TokensFolder  = "/etc/thole/tokens"
	TLSFolder     = "/etc/thole/tls"
	ScratchFolder = "/tmp"
)

// Labels.
const (
	LaunchLabel    = "thole.example/launch"
	componentLabel = "app.kubernetes.io/component"
	storeLabel     = "thole.example/store" // of leases
	queueLabel     = "kueue.x-k8s.io/queue-name"
)

const (
	serverPort, adminPort = 7001, 9001
	server, worker        = "server", "worker"
	keysComponent         = "keys"  // creates the Secret
	filesLimit            = 1 << 20 // bytes of a ConfigMap
	nameLimit             = 40      // StatefulSets make labels of it, with 18 letters more
)

// named is what names of objects may be that become names of hosts: RFC 1035.
var named = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// dns is what other names may be: RFC 1123.
var dns = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// variable is what variables may be called.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ownVariables are the names of the variables by which pods know who they are.
func ownVariables() []string {
	return []string{"POD_IP", "POD_NAME", "POD_NAMESPACE", "SERVER_INDEX", "JOB_COMPLETION_INDEX", "SERVERS", "WORKERS"}
}

// CheckName refuses a name that no launch can have.
func CheckName(name string) error {
	if !named.MatchString(name) || len(name) > nameLimit {
		return fmt.Errorf("%.80q, want a-z, 0-9 and -, beginning with a letter, at most %d of them", name, nameLimit)
	}
	return nil
}

// CheckObject refuses what is no name of a namespace, a secret or a claim.
func CheckObject(name string) error {
	for part := range strings.SplitSeq(name, ".") {
		if !dns.MatchString(part) || len(part) > 63 {
			return fmt.Errorf("%.80q, want a-z, 0-9, - and ., as Kubernetes has names", name)
		}
	}
	return nil
}

// Title is a name for a launch, of words of any letters.
func Title(words string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(words)), "-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "thole-" + name
	}
	return strings.Trim(name[:min(len(name), nameLimit)], "-")
}

// Check refuses what the API would, or what would never run.
func (l *Launch) Check() error {
	secrets := slices.Concat(l.PullSecrets, l.EnvSecrets)
	for _, one := range []string{l.TokenSecret, l.TLSSecret, l.Queue, l.SecretMark} {
		if one != "" {
			secrets = append(secrets, one)
		}
	}
	if err := CheckName(l.Name); err != nil {
		return fmt.Errorf("name %w", err)
	}
	for _, one := range append(secrets, l.Namespace) {
		if err := CheckObject(one); err != nil {
			return err
		}
	}
	switch size := 0; {
	case l.Image == "" || strings.ContainsAny(l.Image, " \t\n"):
		return fmt.Errorf("image %.80q, want the name of an image that the nodes can pull", l.Image)
	case !slices.Contains([]string{"", "Always", "IfNotPresent", "Never"}, l.PullPolicy):
		return fmt.Errorf("pull policy %.40q, want Always, IfNotPresent or Never", l.PullPolicy)
	case l.User < 1:
		return fmt.Errorf("user %d, want a number above 0: pods do not run as root", l.User)
	case l.Operator && (l.JobSet || l.Queue != ""):
		return errors.New("--jobset or --queue with --operator, want one without the other: a TholeJob is part of neither")
	case l.TokenSecret != "" && l.TLSSecret == "" && l.Insecure:
		return errors.New("tokens without TLS would cross the network in clear: want both")
	default:
		for name, text := range l.Files {
			size += len(name) + len(text)
		}
		if size > filesLimit {
			return fmt.Errorf("files of settings of %d bytes, want at most %d: a ConfigMap holds no more", size, filesLimit)
		}
	}
	for _, v := range l.Env {
		if !variable.MatchString(v.Name) {
			return fmt.Errorf("variable %.80q, want letters, digits and _", v.Name)
		}
		if slices.Contains(ownVariables(), v.Name) {
			return fmt.Errorf("variable %s: the launch sets it itself; use another name", v.Name)
		}
	}
	return l.checkVolumes()
}

func (l *Launch) checkVolumes() error {
	names, at := map[string]bool{}, map[string]string{"/": "the image", ScratchFolder: "the folder for scratch files"}
	for _, v := range l.Volumes {
		switch {
		case names[v.Name] || strings.HasPrefix(v.Name, "thole-"):
			return fmt.Errorf("volume %s, want another name: that one is taken", v.Name)
		case at[v.Path] != "" || below("/etc/thole", v.Path):
			return fmt.Errorf("volume %s at %s, want another path: there is %s", v.Name, v.Path, cmp.Or(at[v.Path], "what the launch brings"))
		}
		names[v.Name], at[v.Path] = true, "volume "+v.Name
	}
	return nil
}

// below reports whether a path is that of a folder or of something in it.
func below(folder, file string) bool { return file == folder || strings.HasPrefix(file, folder+"/") }

// VolumeAt is the volume that has a path; nil: none has.
func (l *Launch) VolumeAt(file string) *Volume {
	var found *Volume
	for i := range l.Volumes {
		if v := &l.Volumes[i]; below(v.Path, path.Clean(file)) && (found == nil || len(v.Path) > len(found.Path)) {
			found = v
		}
	}
	return found
}
