package ssp_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"thole.example/ssp"
)

// machine is what a server does with clocks, gate and stage, without server.
type machine struct {
	bound  ssp.Bound
	clocks *ssp.Clocks
	gate   ssp.Gate[int]
	stage  ssp.Stage[string]
	folded []int // clocks that were folded and had deltas
	out    strings.Builder
	quiet  bool // the last event has told the slowest clock already, or does not concern it
}

func (m *machine) say(text string, args ...any) { fmt.Fprintf(&m.out, text+"\n", args...) }

func (m *machine) reads(task int) {
	seen := "none"
	if n := len(m.folded); n > 0 {
		seen = fmt.Sprintf("%d..%d", m.folded[0], m.folded[n-1])
	}
	m.say("task %d at clock %d reads steps %s", task, m.clocks.Of(task), seen)
}

func (m *machine) tick(task, n int) error {
	slowest, err := m.clocks.Tick(task, n)
	if err != nil {
		return err
	}
	err = m.stage.Fold(slowest, func(clock int, deltas []string) error {
		m.folded = append(m.folded, clock)
		m.say("fold clock %d: %s", clock, strings.Join(deltas, " "))
		return nil
	})
	for _, task := range m.gate.Reach(slowest) {
		m.reads(task)
	}
	return err
}

// event makes one line happen: "job tasks bound", "put task delta", "tick task clock", "finish task", "read task",
// "drop task".
func (m *machine) event(line string) error {
	words := strings.Fields(line)
	num := func(i int) int {
		if i < len(words) {
			if n, err := strconv.Atoi(words[i]); err == nil {
				return n
			}
		}
		return -1
	}
	task := num(1)
	m.quiet = false
	switch words[0] {
	case "job":
		m.clocks, m.bound = ssp.NewClocks(task), ssp.Bound(num(2))
	case "put":
		m.stage.Put(m.clocks.Of(task), task, words[2])
	case "tick":
		return m.tick(task, num(2))
	case "finish":
		return m.tick(task, ssp.Finished)
	case "read":
		m.quiet = true
		if need := m.bound.Need(m.clocks.Of(task)); m.clocks.Slowest() < need {
			m.gate.Park(need, task)
			m.say("task %d at clock %d waits for clock %d", task, m.clocks.Of(task), need)
		} else {
			m.reads(task)
		}
	case "drop":
		m.gate.Drop(func(who int) bool { return who == task })
	default:
		return errors.New("no such event")
	}
	return nil
}

// effects runs the events of one block and answers with what came out.
func (m *machine) effects(events []string) string {
	m.out.Reset()
	last := ""
	for _, e := range events {
		if strings.HasPrefix(e, "#") {
			continue
		}
		if err := m.event(e); err != nil {
			m.say("%v", err)
			m.quiet = true
		}
		last = strings.Fields(e)[0]
	}
	switch slowest := m.clocks.Slowest(); {
	case m.quiet:
	case last == "put":
		m.say("staged %d", m.stage.Len())
	case slowest == ssp.Finished:
		m.say("slowest finished")
	default:
		m.say("slowest %d", slowest)
	}
	return m.out.String()
}

// TestStageTranscripts runs the stories of clocks, gate and stage alone.
func TestStageTranscripts(t *testing.T) {
	transcripts(t, "stage", 4, func() func([]string) string { return (&machine{}).effects })
}
