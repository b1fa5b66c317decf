package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thole.example/algo"
	"thole.example/internal/spell"
)

// findConf is the entry of a key in the table.
func findConf(key string) (*confKey, error) {
	all := confKeys()
	names := make([]string, len(all))
	for i := range all {
		if all[i].key == key {
			return &all[i], nil
		}
		names[i] = all[i].key
	}
	return nil, fmt.Errorf("--conf %s: want a key of Angel's configuration that has a meaning here%s", key, spell.Hint(key, names))
}

// configure gives the flags what Angel's keys say that --conf has.
func (s *settings) configure() error {
	s.name, s.said = "--conf", map[string]string{}
	if len(s.job.conf) > 0 {
		s.job.ofConf = s
	}
	held := s.user["schedule"] || s.flags.Changed("schedule") // with its settings
	for _, key := range slices.Sorted(maps.Keys(s.job.conf)) {
		k, err := findConf(key)
		if err == nil {
			err = s.take(k, key, s.job.conf[key])
		}
		if err != nil {
			return usageError{err}
		}
	}
	if held {
		return nil
	}
	if err := s.decays(); err != nil {
		return usageError{err}
	}
	return nil
}

// take does what the key says, as far as that does not depend on the algorithm.
func (s *settings) take(k *confKey, key, text string) error {
	var err error
	said := true
	switch {
	case k.idle != "":
		s.warn("--conf %s has no effect: %s", key, k.idle)
	case k.not != "":
		if v, bad := strconv.ParseFloat(text, 64); k.same != "" && bad == nil && fmt.Sprint(v) == k.same {
			return nil
		}
		return fmt.Errorf("--conf %s is refused: %s", key, k.not)
	case k.text != nil:
		text, said, err = k.text(s, text)
	case k.ruleOf != nil:
		_, err = ruleNamed(text)
	case k.setting != "" || k.decay != "":
		_, err = numberOf(text)
	}
	if err != nil {
		return fmt.Errorf("--conf %s is %q, %w", key, s.job.conf[key], err)
	}
	if k.flag == "" || !said || k.of != nil {
		return nil
	}
	return s.give(k.flag, "--conf "+key, text)
}

// configured gives the flags what the keys say that only some algorithms have a use for.
func (p *plan) configured() error {
	s := p.ofConf
	if s == nil {
		return nil
	}
	s.name = "--conf"
	for _, key := range slices.Sorted(maps.Keys(p.job.conf)) {
		k, err := findConf(key)
		if err != nil || k.of == nil {
			continue // it was refused or taken
		}
		text := p.job.conf[key]
		if k.text != nil {
			if text, _, err = k.text(s, text); err != nil {
				continue
			}
		}
		why, err := k.of(p, text)
		switch {
		case err != nil:
			return fmt.Errorf("--conf %s is %q, %w", key, text, err)
		case why != "":
			s.warn("--conf %s has no effect: %s", key, why)
		default:
			if err := s.give(k.flag, "--conf "+key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete checks what the keys say of the whole job, when all files are read.
func (s *settings) complete() error {
	if strings.EqualFold(s.job.conf["action.type"], "inctrain") && s.job.load == "" {
		return usageError{errors.New("--conf action.type is inctrain, want angel.load.model.path or --load beside it: the model to go on from")}
	}
	if f := s.job.network; f != nil && s.job.class != "" {
		if name := algo.NameOf(f); name != "" && name != s.job.class {
			return usageError{fmt.Errorf("--conf ml.model.class.name is %s, and the network of the graph is that of %s: want that class, or none",
				s.job.class, name)}
		}
	}
	return nil
}

// formats are the formats of the kinds of layers, as --conf has them.
func (j *job) formats() map[string]string {
	all := map[string]string{}
	for _, k := range confKeys() {
		for _, kind := range k.formatOf {
			if name := strings.TrimSpace(j.conf[k.key]); name != "" {
				all[kind] = name
			}
		}
	}
	return all
}
