package local

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// transcripts are what happens to groups of processes, and what these ask for: a line is the time, what happens, and behind the arrow what
// is to be done, said, and when time matters next.
var transcripts = map[string]struct {
	processes string // s: a server, w: a worker, o: one that the others go on without
	restarts  int
	lines     string
}{
	"nothing happens": {"ssww", 3, `
		0s     begin         -> start s0, start s1
		1s     up s1         ->
		2s     up s0         -> start w0, start w1
		1m     end w1 0      ->
		2m     end w0 0      -> stop s0, stop s1, next 2m5s
		2m1s   end s0 0      -> next 2m5s
		2m2s   end s1 0      -> next 2m5s, over`},
	"no servers": {"w", 3, `
		0s     begin         -> start w0
		1s     end w0 0      -> next 6s, over`},
	"a server is killed before it is up": {"sw", 3, `
		0s     begin         -> start s0
		1s     end s0 kill   -> s0 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 3), next 1.1s
		1.1s   time          -> start s0
		2s     up s0         -> start w0`},
	"a server is killed later": {"sw", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     end s0 kill   -> s0 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 3), next 1.1s
		1.05s  time          -> next 1.1s
		1.1s   time          -> start s0
		1.2s   up s0         ->
		3s     end w0 0      -> stop s0, next 8s
		3s     end s0 0      -> next 8s, over`},
	"pauses grow up to the number of restarts": {"w", 3, `
		0s     begin         -> start w0
		1s     end w0 kill   -> w0 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 3), next 1.1s
		1.1s   time          -> start w0
		2s     end w0 75     -> w0 ended with status 75 after 900ms, starts again in 200ms (restart 2 of at most 3), next 2.2s
		2.2s   time          -> start w0
		3s     end w0 130    -> w0 was interrupted after 800ms, starts again in 400ms (restart 3 of at most 3), next 3.4s
		3.4s   time          -> start w0
		4s     end w0 kill   -> next 9s, over: w0 was killed by a signal: kill, after 3 restarts`},
	"a minute of life makes the pause short": {"w", 9, `
		0s     begin         -> start w0
		1s     end w0 kill   -> w0 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 9), next 1.1s
		1.1s   time          -> start w0
		70s    end w0 kill   -> w0 was killed by a signal: kill after 1m8.9s, starts again in 100ms (restart 2 of at most 9), next 1m10.1s`},
	"no restarts": {"sw", 0, `
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     end s0 kill   -> stop w0, next 6s
		2s     end w0 130    -> next 6s, over: s0 was killed by a signal: kill, and is not to be started again`},
	"a worker that the others go on without is killed too often": {"swoo", 1, `
		0s     begin         -> start s0
		0s     up s0         -> start w0, start o0, start o1
		1s     end o0 kill   -> o0 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 1), next 1.1s
		1.1s   time          -> start o0
		2s     end o0 kill   -> o0 was killed by a signal: kill, after 1 restarts: the others go on without it
		2s     end o1 0      ->
		9s     end w0 0      -> stop s0, next 14s
		9s     end s0 0      -> next 14s, over`},
	"one of those is the first, or fails": {"soo", 0, `
		0s     begin         -> start s0
		0s     up s0         -> start o0, start o1
		1s     end o0 kill   -> stop s0, stop o1, next 6s
		2s     end o1 1      -> next 6s
		2s     end s0 0      -> next 6s, over: o0 was killed by a signal: kill, and is not to be started again`},
	"a worker fails": {"sww", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     end w1 1      -> stop s0, stop w0, next 6s
		1.1s   end w0 1      -> next 6s
		2s     time          -> next 6s
		6s     time          -> kill s0
		6.1s   end s0 kill   -> over: w1 ended with status 1`},
	"a wrong command line": {"sw", 3, `
		0s     begin         -> start s0
		0s     end s0 2      -> next 5s, over: s0 ended with status 2`},
	"what cannot be started": {"sw", 3, `
		0s     begin         -> start s0
		0s     end s0 none   -> next 5s, over: s0 could not be started: none`},
	"somebody ends a server": {"sw", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     end s0 0      -> s0 ended with status 0 after 1s, starts again in 100ms (restart 1 of at most 3), next 1.1s`},
	"others die when the work is done": {"sww", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     end w0 0      -> next 31s
		2s     end w1 kill   -> w1 was killed by a signal: kill, when the work was done, stop s0, next 7s
		3s     end s0 0      -> next 7s, over`},
	"others do not end when the work is done": {"sww", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     end w0 0      -> next 31s
		31s    time          -> the work is done, and the other workers have not ended within 30s, stop s0, stop w1, next 36s
		32s    end s0 0      -> next 36s
		36s    time          -> kill w1
		36s    end w1 kill   -> over`},
	"a server fails when the work is done": {"sww", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     end w0 0      -> next 31s
		2s     end s0 1      -> s0 ended with status 1, when the work was done, stop w1, next 7s
		3s     end w1 1      -> next 7s, over`},
	"Ctrl-C": {"ssw", 3, `
		0s     begin         -> start s0, start s1
		1s     end s1 kill   -> s1 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 3), next 1.1s
		1s     stop          -> stop s0, next 6s
		1.5s   stop          -> next 6s
		2s     end s0 0      -> next 6s, over: interrupted`},
	"Ctrl-C twice": {"sw", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     stop          -> stop s0, stop w0, next 6s
		2s     kill          -> kill s0, kill w0
		2s     end s0 kill   ->
		2s     end w0 kill   -> over: interrupted`},
	"Ctrl-C where the first worker ends by itself": {"sww", 3, `
		0s     grace 20s     ->
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     stop          -> ask w0, next 21s
		2s     stop          -> next 21s
		3s     end w1 75     -> next 21s
		4s     end w0 75     -> stop s0, next 9s
		4s     end s0 75     -> next 9s, over: interrupted`},
	"or does not": {"sww", 3, `
		0s     grace 20s     ->
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     stop          -> ask w0, next 21s
		21s    time          -> stop s0, stop w0, stop w1, next 26s
		26s    time          -> kill s0, kill w0, kill w1`},
	"or cannot, as a server is away": {"sw", 3, `
		0s     grace 20s     ->
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     stop          -> ask w0, next 21s
		2s     end s0 kill   -> stop w0, next 7s
		3s     end w0 75     -> next 7s, over: interrupted`},
	"or comes to the end of the work": {"sww", 3, `
		0s     grace 20s     ->
		0s     begin         -> start s0
		0s     up s0         -> start w0, start w1
		1s     stop          -> ask w0, next 21s
		2s     end w0 0      -> stop s0, stop w1, next 7s
		3s     end w1 0      -> next 7s
		3s     end s0 0      -> next 7s, over`},
	"and Ctrl-C once more": {"sw", 3, `
		0s     grace 20s     ->
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     stop          -> ask w0, next 21s
		2s     kill          -> kill s0, kill w0
		2s     end s0 kill   ->
		2s     end w0 kill   -> over: interrupted`},
	"before it runs": {"sw", 3, `
		0s     grace 20s     ->
		0s     begin         -> start s0
		1s     stop          -> stop s0, next 6s
		1s     end s0 0      -> next 6s, over: interrupted`},
	"a server joins, and one leaves": {"ssw", 3, `
		0s     begin         -> start s0, start s1
		0s     up s0         ->
		0s     up s1         -> start w0
		1s     trial s2      -> start s2
		1.1s   end s2 kill   -> s2 was killed by a signal: kill after 100ms, starts again in 100ms (restart 1 of at most 3), next 1.2s
		1.2s   time          -> start s2
		1.3s   up s2         ->
		2s     keep s2       ->
		2s     leave s0      -> ask s0, next 7s
		2s     leave s0      -> next 7s
		3s     end s0 0      ->
		4s     end s2 kill   -> s2 was killed by a signal: kill after 2.8s, starts again in 200ms (restart 2 of at most 3), next 4.2s
		4.2s   time          -> start s2
		5s     join s0       -> start s0
		6s     end w0 0      -> stop s0, stop s1, stop s2, next 11s
		6s     end s0 0      -> next 11s
		6s     end s1 0      -> next 11s
		6s     end s2 0      -> next 11s, over`},
	"one on trial fails": {"sw", 1, `
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     trial s1      -> start s1
		2s     end s1 1      -> s1 ended with status 1: the others go on without it
		3s     trial s1      -> start s1
		4s     end s1 kill   -> s1 was killed by a signal: kill after 1s, starts again in 100ms (restart 1 of at most 1), next 4.1s
		4.1s   time          -> start s1
		4.2s   end s1 kill   -> s1 was killed by a signal: kill: the others go on without it
		5s     keep s1       -> stop s0, stop w0, next 10s
		6s     end s0 0      -> next 10s
		6s     end w0 0      -> next 10s, over: s1 was killed by a signal: kill`},
	"a server does not leave": {"sw", 1, `
		0s     begin         -> start s0
		0s     up s0         -> start w0
		1s     join s1       -> start s1
		2s     leave s1      -> ask s1, next 7s
		7s     time          -> kill s1
		7s     end s1 kill   ->
		8s     trial s1      -> start s1
		8s     end s1 kill   -> s1 was killed by a signal: kill after 0s, starts again in 100ms (restart 1 of at most 1), next 8.1s
		8s     leave s1      ->
		9s     stop          -> stop s0, stop w0, next 14s`},
	"workers come and go": {"soo", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start o0, start o1
		1s     leave o1      -> ask o1
		1m     trial s1      -> start s1
		1m     join o2       -> start o2
		2m     end o1 kill   ->
		3m     keep o1       ->
		3m     join o1       -> start o1
		4m     leave o1      -> ask o1
		4m     leave o2      -> ask o2
		5m     end o1 0      ->
		6m     end o0 0      -> next 6m30s
		6m1s   end o2 0      -> stop s0, stop s1, next 6m6s
		6m2s   end s0 0      -> next 6m6s
		6m2s   end s1 0      -> next 6m6s, over`},
	"asked to leave when all end": {"soo", 3, `
		0s     begin         -> start s0
		0s     up s0         -> start o0, start o1
		1s     leave o1      -> ask o1
		2s     stop          -> stop s0, stop o0, stop o1, next 7s
		2s     join o2       -> next 7s
		3s     end o1 0      -> next 7s
		3s     end o0 130    -> next 7s
		7s     time          -> kill s0
		7s     end s0 kill   -> over: interrupted`},
}

func TestTranscripts(t *testing.T) {
	for name, c := range transcripts {
		t.Run(name, func(t *testing.T) {
			p := newPlay(c.processes, c.restarts)
			for line := range strings.Lines(strings.TrimSpace(c.lines)) {
				line = strings.TrimSpace(line)
				event, want, _ := strings.Cut(line, "->")
				if got := p.line(t, event); got != strings.TrimSpace(want) {
					t.Errorf("%s\n got -> %s", line, got)
				}
			}
		})
	}
}

// play is a group with a clock of its own.
type play struct {
	*Group
	begin time.Time
	said  []string
}

func newPlay(kinds string, restarts int) *play {
	p := &play{begin: time.Unix(1000, 0)}
	var all []Process
	count := map[rune]int{}
	for _, k := range kinds {
		all = append(all, processCalled(fmt.Sprintf("%c%d", k, count[k])))
		count[k]++
	}
	p.Group = NewGroup(all, restarts, func(i int, text string) {
		if i >= 0 {
			text = p.Members[i].Name + " " + text
		}
		p.said = append(p.said, text)
	})
	return p
}

// processCalled is a process of the kind that its name begins with.
func processCalled(name string) Process {
	if name[0] == 's' {
		return Process{Name: name, Kind: Server, Ready: "up"}
	}
	return Process{Name: name, Kind: Worker, Optional: name[0] == 'o'}
}

// line makes an event happen, and says what the group answers.
func (p *play) line(t *testing.T, event string) string {
	t.Helper()
	words := strings.Fields(event)
	at, err := time.ParseDuration(words[0])
	if err != nil {
		t.Fatal(err)
	}
	now, i := p.begin.Add(at), 0
	for k := range p.Members {
		if len(words) > 2 && p.Members[k].Name == words[2] {
			i = k
		}
	}
	p.said = nil
	var do []Effect
	switch words[1] {
	case "begin":
		do = p.Begin(now)
	case "grace":
		p.Grace, err = time.ParseDuration(words[2])
		if err != nil {
			t.Fatal(err)
		}
	case "up":
		do = p.Up(now, i)
	case "time":
		do = p.Time(now)
	case "stop":
		do = p.Stop(now)
	case "kill":
		do = p.Kill(now)
	case "join", "trial":
		_, do = p.Join(now, processCalled(words[2]), words[1] == "trial")
	case "keep":
		do = p.Keep(now, i)
	case "leave":
		do = p.Leave(now, i)
	case "end":
		x := Exit{Code: -1}
		switch _, err := fmt.Sscan(words[3], &x.Code); {
		case err == nil:
		case words[3] == "none":
			x.Failed = words[3]
		default:
			x.Code, x.Signal = -1, words[3]
		}
		do = p.Ended(now, i, x)
	}
	return strings.Join(p.answers(do), ", ")
}

func (p *play) answers(do []Effect) []string {
	all := p.said
	for _, e := range do {
		all = append(all, []string{"start", "ask", "stop", "kill"}[e.Action]+" "+p.Members[e.Process].Name)
	}
	if next := p.Next(); !next.IsZero() {
		all = append(all, fmt.Sprintf("next %v", next.Sub(p.begin)))
	}
	if o := p.Outcome(); o != nil {
		text := "over"
		if o.Failed >= 0 {
			text += ": " + p.Members[o.Failed].Name + " " + o.Why
		} else if o.Why != "" {
			text += ": " + o.Why
		}
		all = append(all, text)
	}
	return all
}

// TestPauses: they double up to the most, and never pass it.
func TestPauses(t *testing.T) {
	p := newPlay("w", 1000)
	now, want := p.begin, firstPause
	p.Begin(now)
	for range 20 {
		p.Ended(now, 0, Exit{Code: -1, Signal: "kill"})
		if got := p.Next().Sub(now); got != want {
			t.Fatalf("restart %d comes after %v, want %v", p.Members[0].Restarts, got, want)
		}
		now, want = now.Add(want), min(2*want, mostPause)
		p.Time(now)
	}
}

// TestAnyHistory: whatever happens in whatever order, a group starts nothing that runs, tells nothing to end that does not run, starts no
// process more often than it may since it has joined, and comes to its end when it is asked to, with nothing left running.
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]string{"w", "sw", "ssww", "swww", "sss"}).Draw(t, "processes")
		restarts := rapid.IntRange(0, 3).Draw(t, "restarts")
		h := &history{T: t, play: newPlay(kinds, restarts), runs: map[int]int{}, now: time.Unix(1000, 0)}
		h.Grace = time.Duration(rapid.IntRange(0, 1).Draw(t, "grace")) * 20 * time.Second
		h.apply(h.Begin(h.now))
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			if h.Outcome() != nil {
				break
			}
			h.step()
		}
		h.apply(h.Stop(h.now))
		for range 10 * len(kinds) {
			if h.Outcome() != nil {
				break
			}
			if next := h.Next(); !next.IsZero() {
				h.now = next
			}
			h.apply(h.Time(h.now))
			for _, i := range h.running() {
				if h.killed[i] { // what is killed ends
					h.end(i, Exit{Code: -1, Signal: "killed"})
				}
			}
		}
		if h.Outcome() == nil {
			t.Fatalf("no end: %+v", h.Members)
		}
		if left := h.running(); len(left) > 0 {
			t.Fatalf("left running: %v", left)
		}
	})
}

// history is a group with what is really so.
type history struct {
	*rapid.T
	*play
	runs   map[int]int // how often each was started
	alive  [8]bool
	killed [8]bool
	now    time.Time
}

func (h *history) running() (all []int) {
	for i, a := range h.alive {
		if a {
			all = append(all, i)
		}
	}
	return all
}

func (h *history) end(i int, x Exit) {
	h.alive[i] = false
	h.apply(h.Ended(h.now, i, x))
}

func (h *history) apply(do []Effect) {
	for _, e := range do {
		switch i := e.Process; {
		case e.Action != Start && !h.alive[i]:
			h.Fatalf("process %d is told to end, and does not run", i)
		case e.Action == Kill:
			h.killed[i] = true
		case e.Action != Start:
		case h.alive[i]:
			h.Fatalf("process %d is started twice", i)
		default:
			h.alive[i], h.killed[i] = true, false
			if h.runs[i]++; h.runs[i] > h.Restarts+1 {
				h.Fatalf("process %d is started for the %d. time, with %d restarts", i, h.runs[i], h.Restarts)
			}
		}
	}
}

// join has a process join that has left, or a new one.
func (h *history) join() {
	name := fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"s", "w"}).Draw(h.T, "kind"), len(h.Members))
	for _, m := range h.Members {
		if m.Phase == Left {
			name = m.Name
		}
	}
	if i := len(h.Members); i == len(h.alive) && name[1:] == fmt.Sprint(i) {
		return
	}
	i, do := h.Join(h.now, processCalled(name), rapid.Bool().Draw(h.T, "trial"))
	h.runs[i] = 0
	h.apply(do)
}

func (h *history) step() {
	h.now = h.now.Add(time.Duration(rapid.IntRange(0, 20000).Draw(h.T, "ms")) * time.Millisecond)
	alive := h.running()
	if len(alive) == 0 || rapid.Bool().Draw(h.T, "time") {
		h.apply(h.Time(h.now))
		return
	}
	i := rapid.SampledFrom(alive).Draw(h.T, "process")
	switch rapid.IntRange(0, 8).Draw(h.T, "what") {
	case 6:
		h.apply(h.Leave(h.now, i))
	case 7:
		h.apply(h.Keep(h.now, i))
	case 8:
		h.join()
	case 0, 1:
		h.apply(h.Up(h.now, i))
	case 2:
		h.apply(h.Stop(h.now))
	default:
		h.end(i, rapid.SampledFrom([]Exit{{}, {Code: 1}, {Code: 2}, {Code: 75}, {Code: 130}, {Code: -1, Signal: "killed"}}).Draw(h.T, "exit"))
	}
}
