package tholejob

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"thole.example/launch/kubernetes"
)

// GenerationMark is the annotation of what the operator makes: the generation of the job that it was made for.
const GenerationMark = "thole.example/generation"

// Pod is a pod of a job, as the operator looks at it.
type Pod struct {
	kubernetes.Pod
	UID        string
	Number     int       // which one of its worker it is, from 0 on
	Attempt    int       // how often all workers had been started again when it was made
	Generation int64     // of the job, when it was made
	Leaving    bool      // it is being deleted
	Deadline   time.Time // when it has to be gone
	Disrupted  bool      // the cluster has ended it
	End        *End      // nil: it goes on, or has not begun
}

// End is how the process of a pod ended.
type End struct {
	Code   int // of its exit; -1: there was no process, or nobody saw its end
	Reason string
	Words  string // the last line that it wrote, if that is known
	Lasted time.Duration
}

// podObject is what is read of a pod beside what package kubernetes reads.
type podObject struct {
	Metadata struct {
		Metadata
		DeletionGracePeriodSeconds *int64
	}
	Spec   struct{ RestartPolicy string }
	Status struct {
		Phase, Reason     string
		Conditions        []struct{ Type, Status string }
		ContainerStatuses []struct {
			State struct {
				Terminated *struct {
					ExitCode              int
					Reason, Message       string
					StartedAt, FinishedAt time.Time
				}
			}
		}
	}
}

// numbered is what the name of a worker's pod ends in.
var numbered = regexp.MustCompile(`-(\d{1,9})$`)

// ReadPod reads a pod as the API gives it.
func ReadPod(text []byte) (*Pod, error) {
	var o podObject
	seen, err := kubernetes.ParsePod(text)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("pod: %w", err)
	}
	m := &o.Metadata
	p := &Pod{Pod: seen, UID: m.UID, Leaving: m.DeletionTimestamp != nil}
	if p.Leaving {
		p.Deadline = *m.DeletionTimestamp // the API has added the grace
	}
	if found := numbered.FindStringSubmatch(m.Name); found != nil {
		p.Number, _ = strconv.Atoi(found[1]) // they are digits
	}
	p.Attempt, _ = strconv.Atoi(m.Labels[kubernetes.AttemptLabel])            // 0: they never are
	p.Generation, _ = strconv.ParseInt(m.Annotations[GenerationMark], 10, 64) // 0: nobody has said
	p.Disrupted = slices.ContainsFunc(o.Status.Conditions, func(c struct{ Type, Status string }) bool {
		return c.Type == "DisruptionTarget" && c.Status == "True"
	})
	if o.Status.Phase != "Failed" && o.Status.Phase != "Succeeded" {
		return p, nil
	}
	p.End = &End{Code: -1, Reason: o.Status.Reason}
	for _, c := range o.Status.ContainerStatuses { // there is one
		if t := c.State.Terminated; t != nil {
			p.End = &End{Code: t.ExitCode, Reason: t.Reason, Words: kubernetes.LastLine(t.Message), Lasted: t.FinishedAt.Sub(t.StartedAt)}
		}
	}
	p.Disrupted = p.Disrupted || p.End.Code < 0 // such as one that a node had no room for
	return p, nil
}

// text says how the process ended.
func (e *End) text() string {
	text := fmt.Sprintf("ended with exit code %d", e.Code)
	if e.Code < 0 {
		text = "was ended by the cluster"
	}
	if e.Reason != "" && e.Reason != "Error" && e.Reason != "Completed" {
		text += " (" + e.Reason + ")"
	}
	if e.Words != "" {
		text += ": " + e.Words
	}
	return fmt.Sprintf("%.500s", text)
}
