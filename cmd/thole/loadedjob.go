package main

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/graph"
)

// continued are the flags whose values a training takes from the saved job of the model of --load, if the user does not give them. Update
// rules with their penalties are those of the network, which its graph.json says. The other flags say which examples it learns from, for
// how long, and what becomes of the model.
var continued = []string{"rate", "schedule", "schedule-set", "schedule-per", "batch", "updates", "clip"}

// continueJob gives the flags of the table what the job saved with the model of --load says.
func (j *job) continueJob(src []byte) error {
	if j.command == nil || len(src) == 0 {
		return nil
	}
	s := &settings{job: j, flags: j.command.Flags(), user: map[string]bool{}, said: map[string]string{}, lines: map[string]int{},
		name: j.load + ": " + jobFileName, warn: func(string, ...any) {}}
	if !strings.HasPrefix(strings.TrimSpace(string(src)), "{") {
		var err error
		if src, err = jsonOf(s.name, src); err != nil {
			return err
		}
	}
	f, err := graph.Parse(s.name, src)
	if err != nil {
		return err
	}
	s.firm()
	s.user["rate"] = s.user["rate"] || s.user["rule"] // another rule has another rate
	take := func(flag, key string, texts ...string) error {
		one := s.flags.Lookup(flag)
		if !slices.Contains(continued, flag) || one == nil || s.user[flag] {
			return nil
		}
		before := textOf(one)
		if err := s.give(flag, key, texts...); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if now := textOf(one); now != before {
			j.taken = append(j.taken, flag+" "+now)
		}
		return nil
	}
	for _, k := range jobKeys() {
		if text, ok := k.get(f); ok {
			if err := take(k.flag, k.path, strings.Split(text, "\x00")...); err != nil {
				return err
			}
		}
	}
	defer func() { slices.Sort(j.taken) }()
	for _, k := range f.Unknown {
		if !slices.Contains(continued, k.Path) || s.flags.Lookup(k.Path) == nil {
			continue
		}
		texts, err := s.texts(k.Path, k.Value)
		if err == nil {
			err = take(k.Path, k.Path, texts...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
