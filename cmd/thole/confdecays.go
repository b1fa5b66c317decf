package main

import (
	"cmp"
	"fmt"
	"slices"

	"thole.example/optim"
)

// decays gives the schedule its settings. Without a class they are those of Angel's StandardDecay, as there.
func (s *settings) decays() error {
	class, texts := s.said["schedule"], []string(nil)
	var given []confKey
	for _, k := range confKeys() {
		if _, ok := s.job.conf[k.key]; ok && k.decay != "" {
			given = append(given, k)
		}
	}
	if class == "" && len(given) == 0 {
		return nil
	}
	schedule, err := optim.FindSchedule(cmp.Or(class, angelSchedules[0]))
	if err != nil {
		return fmt.Errorf("--conf ml.opt.decay.class.name: %w", err)
	}
	slices.SortStableFunc(given, func(a, b confKey) int { return cmp.Compare(b.schedule, a.schedule) }) // those of one alone first
	said := map[string]string{}
	for _, k := range given {
		switch before := said[k.decay]; {
		case !hasSetting(schedule.Hyper, k.decay) || k.schedule != "" && k.schedule != schedule.Angel:
			s.warn("--conf %s has no effect: schedule %s does not take it", k.key, schedule.Angel)
		case before != "" && s.job.conf[before] != s.job.conf[k.key]:
			s.warn("--conf %s has no effect: %s goes before it, as in Angel", k.key, before)
		case before == "":
			said[k.decay] = k.key
			texts = append(texts, k.decay+"="+s.job.conf[k.key])
		}
	}
	if class == "" && len(texts) == 0 {
		return nil
	}
	if class == "" {
		class = angelSchedules[0]
		if err := s.give("schedule", "--conf", class); err != nil {
			return err
		}
	}
	if slices.Contains(angelSchedules, class) && s.said["schedule-per"] == "" {
		if err := s.give("schedule-per", "--conf", "epoch"); err != nil {
			return err
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return s.give("schedule-set", "--conf", texts...)
}
