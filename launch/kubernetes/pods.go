package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pod is a pod of a launch, as the cluster tells of it.
type Pod struct {
	Name      string    `json:"name"`
	Component string    `json:"component"` // server or worker
	Index     int       `json:"index"`     // which of them
	Node      string    `json:"node,omitempty"`
	Address   string    `json:"address,omitempty"`
	State     string    `json:"state"`            // such as "running", with the reason if it does not run
	Advice    string    `json:"advice,omitempty"` // what to do about it
	Ready     bool      `json:"ready"`
	Restarts  int       `json:"restarts"` // of its container
	ExitCode  *int      `json:"exitCode,omitempty"`
	Since     time.Time `json:"since"` // when it was made

	uid     string
	leaving bool // it is being deleted
	started bool // there is or was a process
}

// podObject is what is read of a pod.
type podObject struct {
	Metadata struct {
		Name, UID         string
		Labels            map[string]string
		Annotations       map[string]string
		CreationTimestamp time.Time
		DeletionTimestamp *time.Time
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase, PodIP, Reason, Message string
		Conditions                    []struct{ Type, Status, Reason, Message string }
		ContainerStatuses             []struct {
			Ready            bool
			RestartCount     int
			State, LastState containerState
		}
	}
}

// containerState is one of three.
type containerState struct {
	Waiting    *struct{ Reason, Message string }
	Running    *struct{}
	Terminated *struct {
		ExitCode        int
		Reason, Message string
	}
}

// advice is what to do about reasons that the cluster gives, by them.
func advice() map[string]string {
	return map[string]string{
		"OOMKilled": "it took more memory than its limit: want more --%s-memory, or a smaller --memory",
		"ErrImagePull": "want an --image that the nodes can pull, --image-pull-secret for a registry that asks who comes, " +
			"or --image-pull-policy Never for one that they have",
		"ErrImageNeverPull":          "the node does not have the image: want --image-pull-policy IfNotPresent",
		"InvalidImageName":           "want another --image",
		"CreateContainerConfigError": "a secret or ConfigMap that the launch names is not there, or has not the keys that it needs",
		"RunContainerError":          "the image is not for this machine, or has no thole as its entry point (deploy/Dockerfile makes one)",
		"StartError":                 "the image is not for this machine, or has no thole as its entry point (deploy/Dockerfile makes one)",
		"Unschedulable":              "want nodes with room, or less --%s-memory and --%[1]s-cpus, or a claim that can be bound",
		"Evicted":                    "its node had no room left: want a limit (--%s-memory, --scratch-size), or another node",
		"FailedMount":                "a volume cannot be mounted: see its --volume",
	}
}

// pod is what an object of the API says.
func (o *podObject) pod() Pod {
	m := &o.Metadata
	p := Pod{Name: m.Name, Component: m.Labels[componentLabel], Node: o.Spec.NodeName, Address: o.Status.PodIP, Since: m.CreationTimestamp,
		uid: m.UID, leaving: m.DeletionTimestamp != nil}
	p.Index, _ = strconv.Atoi(cmp.Or(m.Labels["apps.kubernetes.io/pod-index"], m.Labels[IndexLabel],
		m.Labels["batch.kubernetes.io/job-completion-index"], m.Annotations["batch.kubernetes.io/job-completion-index"]))
	reason, message := o.Status.Reason, o.Status.Message
	p.State = strings.ToLower(o.Status.Phase)
	for _, c := range o.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			reason, message = c.Reason, c.Message
		}
	}
	for _, c := range o.Status.ContainerStatuses { // there is one
		p.Ready, p.Restarts = c.Ready, c.RestartCount
		p.started = c.State.Waiting == nil || c.LastState.Terminated != nil
		switch last := c.LastState.Terminated; {
		case c.State.Waiting != nil:
			reason, message = c.State.Waiting.Reason, c.State.Waiting.Message
			if last != nil { // it is started again, after a pause
				p.ExitCode, message = &last.ExitCode, endText(last.ExitCode, last.Reason)
				if words := LastLine(last.Message); words != "" {
					message += ": " + words
				}
				reason = cmp.Or(known(last.Reason), reason)
			}
		case c.State.Terminated != nil:
			t := c.State.Terminated
			p.ExitCode, reason, message = &t.ExitCode, t.Reason, endText(t.ExitCode, "")
			if last := LastLine(t.Message); last != "" {
				message += ": " + last
			}
		case p.Ready && p.Component == server:
			p.State = "ready"
		}
	}
	reason = strings.Replace(reason, "ImagePullBackOff", "ErrImagePull", 1) // the pause after it
	if reason == "Completed" || reason == "ContainerCreating" || reason == "PodInitializing" {
		reason, message = "", ""
	}
	if reason != "" {
		p.State += ": " + reason
	}
	if message != "" {
		p.State += fmt.Sprintf(" (%.300s)", strings.TrimSpace(message))
	}
	if p.leaving {
		p.State = "ending"
	}
	if text := advice()[reason]; strings.Contains(text, "%s") {
		p.Advice = fmt.Sprintf(text, p.Component)
	} else {
		p.Advice = text
	}
	return p
}

// ParsePod reads a pod as the API gives it.
func ParsePod(text []byte) (Pod, error) {
	var o podObject
	if err := json.Unmarshal(text, &o); err != nil {
		return Pod{}, err
	}
	return o.pod(), nil
}

// Started reports whether there is or was a process.
func (p *Pod) Started() bool { return p.started }

// LastLine is the last line of a text that says something.
func LastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// known is a reason for which there is advice; "": it is none.
func known(reason string) string {
	if advice()[reason] == "" {
		return ""
	}
	return reason
}

func endText(code int, reason string) string {
	if reason == "Error" || reason == "Completed" {
		reason = ""
	}
	return strings.TrimSpace(fmt.Sprintf("exit code %d %s", code, reason))
}

// title is how a pod is called: by what it is, not by a random name.
func (p *Pod) title() string { return fmt.Sprintf("%s-%d", p.Component, p.Index) }

// sorted puts pods in order: servers first, by their numbers, and of those the one that was made last at the end.
func sorted(all []Pod) []Pod {
	slices.SortFunc(all, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Component, b.Component), cmp.Compare(a.Index, b.Index), a.Since.Compare(b.Since),
			cmp.Compare(a.Name, b.Name))
	})
	return all
}

// changes are lines that say what is new of pods since they were told of, which the map says by uid: pods with the same news share a line.
func changes(all []Pod, told map[string]string) (lines []string) {
	names, advice := map[string][]string{}, map[string]string{}
	var order []string
	for _, p := range all {
		news := p.State
		if p.Restarts > 0 {
			news = fmt.Sprintf("%s, started again %d times", news, p.Restarts)
		}
		if p.Node != "" && strings.HasPrefix(news, "running") {
			news += " on " + p.Node
		}
		if told[p.uid] == news {
			continue
		}
		told[p.uid] = news
		if names[news] == nil {
			order = append(order, news)
		}
		names[news], advice[news] = append(names[news], p.title()), p.Advice
	}
	const most = 4 // names in a line
	for _, news := range order {
		who := names[news]
		text := strings.Join(who[:min(len(who), most)], ", ")
		if len(who) > most {
			text += fmt.Sprintf(" and %d others", len(who)-most)
		}
		text += ": " + news
		if advice[news] != "" {
			text += "; " + advice[news]
		}
		lines = append(lines, text)
	}
	return lines
}
