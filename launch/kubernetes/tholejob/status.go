package tholejob

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status is how far a job is.
type Status struct {
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	Phase              Phase       `json:"phase,omitempty"`
	Message            string      `json:"message,omitempty"` // what happened last, or is to be done
	Servers            string      `json:"servers,omitempty"` // "2/3": ready, of so many
	Workers            string      `json:"workers,omitempty"` // "8/8": active or done, of so many
	ReadyServers       int         `json:"readyServers"`
	ActiveWorkers      int         `json:"activeWorkers"`
	SucceededWorkers   int         `json:"succeededWorkers"`
	Restarts           int         `json:"restarts"`          // pods of workers that took the place of others
	Attempt            int         `json:"attempt,omitempty"` // how often all workers were started again
	CompletedIndexes   string      `json:"completedIndexes,omitempty"`
	Lost               []Lost      `json:"lost,omitempty"`   // workers of which a pod was lost
	Result             string      `json:"result,omitempty"` // of the training, as worker 0 says it
	StartTime          *time.Time  `json:"startTime,omitempty"`
	CompletionTime     *time.Time  `json:"completionTime,omitempty"`
	Secret             bool        `json:"secret,omitempty"` // the job's own Secret is created
	Swept              bool        `json:"swept,omitempty"`  // what the servers left is removed
	Conditions         []Condition `json:"conditions,omitempty"`
}

// Lost is what is remembered of a worker whose pods were lost.
type Lost struct {
	Index     int        `json:"index"`
	Next      int        `json:"next"`               // number of the pod that comes next, or is there
	Failures  int        `json:"failures,omitempty"` // that count
	Quick     int        `json:"quick,omitempty"`    // pods in a row that ended soon
	NotBefore *time.Time `json:"notBefore,omitempty"`
	Why       string     `json:"why,omitempty"` // the last one was lost
}

// Phase is a status in a word.
type Phase string

// Phases.
const (
	Pending    Phase = "Pending"    // not all of it runs yet
	Running    Phase = "Running"    // an attempt has begun, all servers are ready, and all workers run or are done
	Recovering Phase = "Recovering" // that was so, and something is missing
	Suspended  Phase = "Suspended"
	Succeeded  Phase = "Succeeded"
	FailedNow  Phase = "Failed"
	Ending     Phase = "Ending" // it is being deleted
)

// Conditions. Those that end a job are called as a Job's.
const (
	Complete     = "Complete"
	Failed       = "Failed"
	SuspendedNow = "Suspended"
	ServersReady = "ServersReady"
	Stalled      = "Stalled" // somebody has to do something, before it goes on
)

// Condition is one thing that is so, or not.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // "True" or "False"
	Reason             string    `json:"reason"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
}

// is reports whether a condition is so.
func (s *Status) is(kind string) bool {
	return slices.ContainsFunc(s.Conditions, func(c Condition) bool { return c.Type == kind && c.Status == "True" })
}

// over reports whether the job has come to an end.
func (s *Status) over() bool { return s.is(Complete) || s.is(Failed) }

// condition says that something is so, or not any more, since now; one that never was is not told of. It reports whether that is new.
func (s *Status) condition(kind string, so bool, reason, message string, now time.Time, generation int64) bool {
	c := Condition{kind, map[bool]string{true: "True", false: "False"}[so], reason, fmt.Sprintf("%.1000s", message), now, generation}
	i := slices.IndexFunc(s.Conditions, func(c Condition) bool { return c.Type == kind })
	switch {
	case i < 0 && !so:
		return false
	case i < 0:
		s.Conditions = append(s.Conditions, c)
		return true
	}
	before := s.Conditions[i]
	if before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	s.Conditions[i] = c
	return before.Status != c.Status || so && before.Reason != c.Reason
}

// clone is a copy that shares nothing that is changed.
func (s *Status) clone() *Status {
	c := *s
	c.Conditions, c.Lost = slices.Clone(s.Conditions), slices.Clone(s.Lost)
	return &c
}

// lost is what is remembered of a worker; nil: nothing.
func (s *Status) lost(index int) *Lost {
	if i, ok := s.lostAt(index); ok {
		return &s.Lost[i]
	}
	return nil
}

func (s *Status) lostAt(index int) (int, bool) {
	return slices.BinarySearchFunc(s.Lost, index, func(l Lost, index int) int { return cmp.Compare(l.Index, index) })
}

// remember is the place for what is remembered of a worker.
func (s *Status) remember(index int) *Lost {
	i, ok := s.lostAt(index)
	if !ok {
		s.Lost = slices.Insert(s.Lost, i, Lost{Index: index})
	}
	return &s.Lost[i]
}

// indexes are those of a text like "0-2,5"; what is none is left out.
func indexes(text string) map[int]bool {
	all := map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		lo, err := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		if err == nil && err2 == nil && hi < countLimit {
			for i := lo; i <= hi; i++ {
				all[i] = true
			}
		}
	}
	return all
}

// indexText is such a text.
func indexText(all map[int]bool) string {
	var parts []string
	for lo := 0; lo < countLimit; lo++ {
		hi := lo
		for all[hi] {
			hi++
		}
		switch {
		case hi == lo:
			continue
		case hi == lo+1:
			parts = append(parts, strconv.Itoa(lo))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", lo, hi-1))
		}
		lo = hi
	}
	return strings.Join(parts, ",")
}
