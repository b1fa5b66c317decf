package coord_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"thole.example/coord"
)

var update = flag.Bool("update", false, "write what came out into the transcripts")

// TestTranscripts runs the stories of testdata/claim: blocks of events, "----", and what they lead to.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/claim/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("transcripts %v, %v, want at least 8", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{t: t}
			var again []string
			for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
				events, want, ok := strings.Cut(block+"\n", "----\n")
				if !ok && !*update {
					t.Fatalf("block without ----:\n%s", block)
				}
				got := s.effects(strings.Split(strings.TrimSpace(events), "\n"))
				if got != want && !*update {
					t.Fatalf("after\n%sthere is\n%swant\n%s", events, got, want)
				}
				again = append(again, strings.TrimSpace(events)+"\n----\n"+got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(again, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// script makes events of lines of text, lets them happen to a claim, and tells the effects as text.
//
//	claim lease=12s sole        a claim of server 3 by "me" at host:1; with log=mine it has a log
//	at 5s                       the time of what follows
//	read v=7 by=other epoch=4 lease=12s addr=host:2
//	read v=7 given epoch=4      a record that was given back; both may have log=theirs copies=me,third since=2
//	read                        no record; read err=TEXT: no answer; read bad: no record of ours
//	wrote v=8                   wrote changed, wrote err=TEXT
//	copies name=a,b             these are to be named
//	own                         what the holder has lies whole in its own log
//	deadline, release, next
//
// An answer is one to the last request, unless seq says another.
type script struct {
	t     *testing.T
	claim *coord.Claimant
	now   time.Duration
	seq   uint64
	out   strings.Builder
}

func (s *script) effects(lines []string) string {
	s.out.Reset()
	for _, line := range lines {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			s.line(words[0], settings(words[1:]), words[1:])
		}
	}
	return s.out.String()
}

// names is a list of IDs.
func names(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// held is what a record says of what the role holds.
func held(h coord.Holder) string {
	text := ""
	if h.Since != h.Epoch {
		text += fmt.Sprintf(", since %d", h.Since)
	}
	if h.Log != "" {
		text += ", log " + h.Log
	}
	if len(h.Copies) > 0 {
		text += ", copies " + strings.Join(h.Copies, " ")
	}
	return text
}

func settings(words []string) map[string]string {
	set := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		set[name] = strings.ReplaceAll(value, "_", " ")
	}
	return set
}

func (s *script) line(verb string, set map[string]string, words []string) {
	_, sole := set["sole"]
	switch verb {
	case "claim":
		var err error
		s.claim, err = coord.NewClaimant(coord.Server(3), coord.Holder{ID: "me", Addr: "host:1", Lease: s.duration(set["lease"]),
			Log: cmp.Or(set["newlog"], set["log"])}, set["log"], sole)
		if err != nil {
			s.t.Fatal(err)
		}
	case "at":
		s.now = s.duration(words[0])
	case "next":
		at, ok := s.claim.Next()
		s.say("next %v %v", at, ok)
	default:
		for _, e := range s.claim.Step(s.now, s.event(verb, set)) {
			s.effect(e)
		}
	}
}

func (s *script) event(verb string, set map[string]string) coord.Event {
	seq := s.seq
	if set["seq"] != "" {
		seq = s.number(set["seq"])
	}
	_, given := set["given"]
	_, bad := set["bad"]
	_, changed := set["changed"]
	err := map[bool]error{true: errors.New(set["err"])}[set["err"] != ""]
	switch verb {
	case "read":
		r := coord.Read{Seq: seq, Version: coord.Version(set["v"]), Err: err}
		if set["by"] != "" || given {
			r.Holder = &coord.Holder{ID: set["by"], Addr: set["addr"], Epoch: s.number(set["epoch"]), Beat: s.number(set["beat"]),
				Log: set["log"], Copies: names(set["copies"]), Since: s.number(set["since"])}
			if !given {
				r.Holder.Lease = s.duration(set["lease"])
			}
		}
		if bad {
			r.Err = fmt.Errorf("at byte 3: %w", coord.ErrRecord)
		}
		return r
	case "wrote":
		if changed {
			err = fmt.Errorf("has version 9: %w", coord.ErrChanged)
		}
		return coord.Wrote{Seq: seq, Version: coord.Version(set["v"]), Err: err}
	case "deadline":
		return coord.Deadline{}
	case "release":
		return coord.Release{}
	case "copies":
		return coord.Copies{Copies: names(set["name"])}
	case "own":
		return coord.Own{}
	}
	s.t.Fatalf("no event is called %q", verb)
	return nil
}

func (s *script) effect(e coord.Effect) {
	switch e := e.(type) {
	case coord.Get:
		s.seq = e.Seq
		s.say("get (%d)", e.Seq)
	case coord.Watch:
		s.seq = e.Seq
		s.say("watch after %q (%d)", e.Seen, e.Seq)
	case coord.Put:
		s.seq = e.Seq
		if e.Holder.ID == "" {
			s.say("put nobody, epoch %d%s, over %q (%d)", e.Holder.Epoch, held(e.Holder), e.Old, e.Seq)
		} else {
			s.say("put me, epoch %d, beat %d%s, over %q (%d)", e.Holder.Epoch, e.Holder.Beat, held(e.Holder), e.Old, e.Seq)
		}
	case coord.Hold:
		from := ""
		if e.Continues != coord.Anew || e.Since != e.Epoch {
			from = fmt.Sprintf(" since %d %v", e.Since, e.Continues)
		}
		s.say("hold epoch %d%s until %v", e.Epoch, from, e.Until)
	case coord.Recorded:
		s.say("recorded")
	case coord.Stop:
		s.say("stop")
	case coord.End:
		by := ""
		if e.By != nil {
			by = " by " + e.By.ID
		}
		s.say("end%s: %v", by, e.Err)
	case coord.Say:
		s.say("say: %s", e.Text)
	}
}

func (s *script) say(text string, args ...any) { fmt.Fprintf(&s.out, text+"\n", args...) }

func (s *script) duration(w string) time.Duration {
	d, err := time.ParseDuration(w)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) number(w string) uint64 {
	n, err := strconv.ParseUint("0"+w, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
