package ssp_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"thole.example/ssp"
)

// script makes events of lines of text, lets them happen to a job, and tells the effects as text.
//
// A line is a verb, the name of a request if it is one, and settings:
//
//	job tasks=2 bound=BSP         settings of all joins that follow
//	at 5s                         the time of what follows
//	join j task=0 conn=1 grace=5s optional
//	create c conn=1 w v:rule u:rule:ASP
//	push p conn=1 seq=1 delta=w@0:a,b weightless=w@0:c tick=job@0 tick=v@0/2/0.1 then=w@1
//	pull r conn=1 w@1 v@1         barrier b conn=1 1
//	next, status, restore         Job.Next, Job.String, a job from Job.State
//	record                        Job.Record
type script struct {
	t     *testing.T
	job   *ssp.Job[string, string]
	now   time.Duration
	join  ssp.Join[string]
	ids   map[string]int
	names []string
	out   strings.Builder
}

func newScript(t *testing.T) *script {
	return &script{t: t, job: ssp.NewJob[string, string]("j"), ids: map[string]int{"job": 0}, names: []string{"job"}}
}

func (s *script) effects(lines []string) string {
	s.out.Reset()
	for _, line := range lines {
		if !strings.HasPrefix(line, "#") {
			s.line(strings.Fields(line))
		}
	}
	return s.out.String()
}

func (s *script) say(text string, args ...any) { fmt.Fprintf(&s.out, text+"\n", args...) }

func (s *script) line(words []string) {
	switch verb, rest := words[0], words[1:]; verb {
	case "at":
		s.now = s.duration(rest[0])
	case "job":
		s.settings(&s.join, rest)
	case "record":
		s.job.Record()
	case "next":
		at, ok := s.job.Next()
		s.say("next %v %v", at, ok)
	case "status":
		s.say("%s", strings.TrimSuffix(s.job.String(), "\n"))
	case "restore":
		job, err := ssp.FromState[string, string](s.job.State(), s.now)
		if err != nil {
			s.t.Fatal(err)
		}
		s.job = job
	default:
		for _, e := range s.job.Step(s.now, s.event(verb, rest)) {
			s.say("%s", s.effect(e))
		}
	}
}

func (s *script) event(verb string, words []string) ssp.Event {
	req, set := "", settings(words)
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		req, words = words[0], words[1:]
	}
	conn, seq := int64(s.number(set["conn"])), uint64(s.number(set["seq"]))
	var wrong error
	if text := set["err"]; text != "" {
		wrong = fmt.Errorf("%s: %w", text, ssp.Malformed)
	}
	switch verb {
	case "join":
		j := s.join
		j.Req, j.Name = req, "host"+set["task"]
		s.settings(&j, words)
		return j
	case "create":
		return ssp.Create[string]{Req: req, Conn: conn, Matrices: s.matrices(words)}
	case "push":
		p := ssp.Push[string, string]{Req: req, Conn: conn, Seq: seq, Err: wrong}
		s.push(&p, words)
		return p
	case "pull":
		return ssp.Pull[string]{Req: req, Conn: conn, Needs: s.needs(words)}
	case "look":
		return ssp.Look[string]{Req: req, Needs: s.needs(words)}
	case "jump":
		return ssp.Jump{Clock: s.number(words[len(words)-1])}
	case "barrier":
		return ssp.Pull[string]{Req: req, Conn: conn, Needs: []ssp.Need{{Clock: s.number(words[len(words)-1])}}, Exact: true}
	case "update":
		return ssp.Update[string]{Req: req, Conn: conn, Seq: seq, Err: wrong}
	case "ran":
		return ssp.Ran{Task: s.number(set["task"]), Seq: seq, Err: wrong}
	case "members":
		m := ssp.Members[string]{Req: req, Conn: conn, Joined: s.number(set["joined"]), Refusals: s.number(set["refusals"])}
		if without := set["without"]; without != "" {
			for _, t := range strings.Split(without, ",") {
				m.Without = append(m.Without, s.number(t))
			}
		}
		return m
	case "await":
		return ssp.Await[string]{Req: req, Conn: conn}
	case "move":
		return ssp.Move[string]{Req: req, To: slices.DeleteFunc(strings.Split(set["to"], ","), func(s string) bool { return s == "" })}
	case "keep":
		return ssp.Keep[string]{Req: req}
	case "quiesce":
		return ssp.Quiesce[string]{Req: req, Conn: conn, From: s.number(set["from"]), To: s.number(set["to"])}
	case "commit":
		return ssp.Commit[string]{Req: req, Conn: conn}
	case "moved":
		return ssp.Moved[string]{Req: req, Conn: conn, Err: wrong}
	case "leave":
		return ssp.Leave[string]{Req: req, Conn: conn}
	case "quit":
		return ssp.Quit[string]{Req: req, Conn: conn, Reason: set["reason"], Final: slices.Contains(words, "final"),
			Without: slices.Contains(words, "without")}
	case "giveup":
		return ssp.GiveUp{Task: s.number(set["task"]), Why: set["why"]}
	case "gone":
		return ssp.Gone{Conn: conn}
	case "alive":
		return ssp.Alive{Conn: conn}
	case "cancel":
		return ssp.Cancel[string]{Req: req}
	case "deadline":
		return ssp.Deadline{}
	case "abort":
		return ssp.Abort{Err: wrong, Left: slices.Contains(words, "left")}
	}
	s.t.Fatalf("no event is called %q", verb)
	return nil
}

func settings(words []string) map[string]string {
	set := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		set[name] = value
	}
	return set
}

func (s *script) settings(j *ssp.Join[string], words []string) {
	for _, w := range words {
		switch name, value, _ := strings.Cut(w, "="); name {
		case "conn":
			j.Conn = int64(s.number(value))
		case "task":
			j.Task = s.number(value)
		case "tasks":
			j.Tasks = s.number(value)
		case "bound":
			j.Bound = s.bound(value)
		case "plan":
			j.Plan = strings.ReplaceAll(value, ",", " ")
		case "worker":
			j.Worker = value
		case "mine":
			j.Mine = nil
			for _, n := range strings.Split(value, ",") {
				j.Mine = append(j.Mine, s.number(n))
			}
		case "client":
			j.Client = value
		case "epoch":
			j.Epoch = s.number(value)
		case "first":
			j.First = true
		case "grace":
			j.Grace = s.duration(value)
		case "lease":
			j.Lease = s.duration(value)
		case "attempt":
			j.Attempt = s.number(value)
		case "optional":
			j.Optional = true
		case "replace":
			j.Replace = true
		case "logged":
			j.Logged = true
		case "elsewhere":
			j.Elsewhere = true
		default:
			s.t.Fatalf("no setting of a join is called %q", name)
		}
	}
}

func (s *script) matrices(words []string) (all []ssp.Matrix) {
	for _, w := range words {
		if strings.Contains(w, "=") {
			continue
		}
		parts := strings.Split(w, ":")
		m := ssp.Matrix{ID: len(s.names), Name: parts[0]}
		if id, there := s.ids[m.Name]; there {
			m.ID = id
		}
		for _, p := range parts[1:] {
			if p == "rule" {
				m.Rule = true
			} else {
				m.Own, m.Bound = true, s.bound(p)
			}
		}
		if m.ID == len(s.names) {
			s.ids[m.Name], s.names = m.ID, append(s.names, m.Name)
		}
		all = append(all, m)
	}
	return all
}

func (s *script) push(p *ssp.Push[string, string], words []string) {
	for _, w := range words {
		switch name, value, _ := strings.Cut(w, "="); name {
		case "delta", "weightless":
			place, data, _ := strings.Cut(value, ":")
			n := s.need(place)
			for _, d := range strings.Split(data, ",") {
				p.Deltas = append(p.Deltas, ssp.Delta[string]{Matrix: n.Matrix, Clock: n.Clock, Data: d, Weightless: name == "weightless"})
			}
		case "tick":
			parts := strings.Split(value+"/0/0", "/")
			n := s.need(parts[0])
			weight, err := strconv.ParseFloat(parts[1], 64)
			rate, rerr := strconv.ParseFloat(parts[2], 64)
			if err != nil || rerr != nil {
				s.t.Fatal(err, rerr)
			}
			p.Ticks = append(p.Ticks, ssp.Tick{Matrix: n.Matrix, Clock: n.Clock, Weight: weight, Rate: rate})
		case "then":
			p.Then = append(p.Then, s.need(value))
		}
	}
}

// needs are the words like w@1: clock 1 of matrix w.
func (s *script) needs(words []string) (all []ssp.Need) {
	for _, w := range words {
		if strings.Contains(w, "@") {
			all = append(all, s.need(w))
		}
	}
	return all
}

func (s *script) need(w string) ssp.Need {
	w, own := strings.CutSuffix(w, "+own")
	name, clock, _ := strings.Cut(w, "@")
	id, there := s.ids[name]
	if !there {
		id = s.number(name)
	}
	return ssp.Need{Matrix: id, Clock: s.number(clock), Own: own}
}

func (s *script) number(w string) int {
	if w == "" {
		return 0
	}
	n, err := strconv.Atoi(w)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) duration(w string) time.Duration {
	d, err := time.ParseDuration(w)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) bound(w string) ssp.Bound {
	switch w {
	case "BSP":
		return ssp.BSP
	case "ASP":
		return ssp.ASP
	}
	return ssp.Bound(s.number(w))
}

func (s *script) effect(e ssp.Effect) string {
	switch e := e.(type) {
	case ssp.Apply[string]:
		text := fmt.Sprintf("apply %s clock %d: %s", s.names[e.Matrix], e.Clock, strings.Join(e.Deltas, " "))
		if e.Step {
			text += fmt.Sprintf(" (step of weight %v, rate %v)", e.Weight, e.Rate)
		}
		return text
	case ssp.Discard[string]:
		return fmt.Sprintf("discard %s: %s", s.names[e.Matrix], strings.Join(e.Deltas, " "))
	case ssp.Run[string]:
		return fmt.Sprintf("run %s: change %d of task %d", e.Req, e.Seq, e.Task)
	case ssp.Made[string]:
		if e.Err != nil {
			return fmt.Sprintf("made %s: change %d of task %d is refused", e.Req, e.Seq, e.Task)
		}
		return fmt.Sprintf("made %s: change %d of task %d", e.Req, e.Seq, e.Task)
	case ssp.GivenUp:
		return fmt.Sprintf("given up: task %d %s", e.Task, e.Why)
	case ssp.Published:
		return fmt.Sprintf("published %s %s", s.names[e.Matrix], clockText(e.Slowest))
	case ssp.Own[string, string]:
		return fmt.Sprintf("own %s: %s", e.Req, strings.Join(e.Deltas, " "))
	case ssp.Answer[string]:
		return fmt.Sprintf("answer %s: clock %s%s", e.Req, clockText(e.Clock), map[bool]string{true: " (again)"}[e.Again])
	case ssp.Later[string]:
		return fmt.Sprintf("answer %s: not joined, come in attempt %d%s", e.Req, e.Attempt,
			map[bool]string{true: ", the others have gone on without it"}[e.Without])
	case ssp.Ended[string]:
		return fmt.Sprintf("answer %s: the job has ended", e.Req)
	case ssp.Anew[string]:
		return fmt.Sprintf("hand back %s for a new job", e.Req)
	case ssp.Ordered[string]:
		if e.To == nil {
			return fmt.Sprintf("answer %s: write a checkpoint", e.Req)
		}
		return fmt.Sprintf("answer %s: move to %s", e.Req, strings.Join(e.To, ", "))
	case ssp.Roster[string]:
		return fmt.Sprintf("answer %s: %d joined, missing %v, %d refused: %v%s", e.Req, e.Joined, e.Missing, e.Refusals, e.Reason, waiting(e.Waiting))
	case ssp.Refuse[string]:
		kind := ssp.Kind("no kind")
		errors.As(e.Err, &kind)
		done := map[bool]string{true: " (done)"}[e.Done]
		return fmt.Sprintf("refuse %s: %s%s", e.Req, strings.Replace(e.Err.Error(), string(kind), "["+string(kind)+"]", 1), done)
	case ssp.Fail:
		return fmt.Sprintf("fail: %v", e.Err)
	case ssp.End:
		return "end"
	case ssp.Say:
		return "say: " + e.Text
	case ssp.DropConn:
		return fmt.Sprintf("drop connection %d", e.Conn)
	}
	s.t.Fatalf("no effect is of type %T", e)
	return ""
}

func waiting(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d waiting", n)
}

func clockText(n int) string {
	if n == ssp.Finished {
		return "finished"
	}
	return strconv.Itoa(n)
}
