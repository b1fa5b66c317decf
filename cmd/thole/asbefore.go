package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"thole.example/state"
)

// settingsOf are the settings in the summary of a plan, by name.
func settingsOf(summary string) map[string]string {
	all, last := map[string]string{}, ""
	for word := range strings.FieldsSeq(summary) {
		if name, value, ok := strings.Cut(word, "="); ok {
			all[name], last = value, name
		} else {
			all[last] += " " + word // of a value with several words
		}
	}
	return all
}

// sizeWord is how a summary has an algo.Size, whose numbers are 0 where the algorithm has its own.
var sizeWord = regexp.MustCompile(`^\{(\S+) (\S+) \[(.*)\] (\S+) (\S+) (\S+) (\S+)\}$`)

// sizeNames are the flags that give these numbers, and names of those that the examples give.
var sizeNames = []string{"fields-embedded", "factors", "hidden", "classes-told", "cross-layers", "rank", "dropout"}

// sized has the numbers of a size among the settings in its place: their names are what a user can set.
func sized(settings map[string]string) map[string]string {
	numbers := sizeWord.FindStringSubmatch(settings["size"])
	if numbers == nil {
		return settings
	}
	delete(settings, "size")
	for i, name := range sizeNames {
		value := strings.ReplaceAll(numbers[1+i], " ", ",")
		if value == "" || value == "0" {
			value = "default"
		}
		settings[name] = value
	}
	return settings
}

// mayDiffer are the settings that a training which is resumed may have otherwise than before: where things lie, and when it ends.
var mayDiffer = []string{"epochs", "tolerance", "early-stop", "model", "state", "give-up"}

// differencesShown is how many settings a refusal names.
const differencesShown = 3

// asBefore refuses to go on from a checkpoint with other settings than those of the training that wrote it, as far as it says them.
func (p *plan) asBefore(path, before string, say func(format string, args ...any)) error {
	was, is := sized(settingsOf(before)), sized(settingsOf(p.summary()))
	var of, here []string
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if name == "load" && is[name] == "" { // the checkpoint has what came of that
			continue
		}
		if now, there := is[name]; there && now != was[name] && !slices.Contains(mayDiffer, name) && len(of) < differencesShown {
			of, here = append(of, name+"="+was[name]), append(here, name+"="+now)
		}
	}
	if len(of) > 0 {
		return fmt.Errorf("%s is of a training with %s, and this one has %s: want the settings as they were, or another --checkpoint "+
			"(--save-state and --load go on with others)", path, strings.Join(of, ", "), strings.Join(here, ", "))
	}
	if epochs := was["epochs"]; epochs != "" && epochs != is["epochs"] && p.ends {
		say("%s is of a training of %s epochs, this one has %s: the rate falls as in one of %[3]s from here on", path, epochs, is["epochs"])
	}
	return nil
}

// seedBefore takes the seed of the training to go on from, as its state says it, if the user gives none. Where there is no state, or one
// that says nothing, the default stays; what is wrong with a state is said when it is read.
func (j *job) seedBefore(ctx context.Context) {
	if j.given("seed") || j.freshState {
		return
	}
	at := inBucket(cmp.Or(j.loadState, j.load+stateEnding))
	for _, folder := range []string{j.resume, j.checkpoint} { // the latter counts
		if folder == "" || j.resume == resumeNever {
			continue
		}
		if all, err := state.List(ctx, j.paths, inBucket(folder)); err == nil && len(all) > 0 {
			at = all[0].Path
		} else if folder == j.resume {
			at = inBucket(folder)
		}
	}
	in, err := state.NewInput(ctx, j.paths, at)
	if err != nil {
		return
	}
	defer in.Close()
	if seed, err := strconv.ParseUint(settingsOf(in.Plan)["seed"], 10, 64); err == nil {
		j.seed = seed
		return
	}
	for i := range in.Matrices { // written before states had a plan
		if init := in.Matrices[i].Meta.Init; init.Kind == "normal" || init.Kind == "uniform" {
			j.seed = init.Seed
			return
		}
	}
}

var initialSeed = regexp.MustCompile(`initially \w+\([^)]*seed (\d+)\)`)

// otherSeed is the flag with the seed of a state that was refused, if that is another one.
func (p *plan) otherSeed(err error) string {
	if found := initialSeed.FindStringSubmatch(err.Error()); found != nil && found[1] != fmt.Sprint(p.seed) {
		return fmt.Sprintf("--seed %s is that of the state; ", found[1])
	}
	return ""
}

// tellLoad says what a training goes on from.
func (p *plan) tellLoad(say func(format string, args ...any)) {
	switch {
	case p.load == "":
	case p.loadState != "":
		say("load %s with its state %s, seed %d", p.load, p.loadState, p.seed)
	case p.freshState:
		say("load %s without its state (--fresh-state): update rules begin anew", p.load)
	default:
		say("load %s; there is no state %s%s: update rules begin anew", p.load, p.load, stateEnding)
	}
	if len(p.taken) > 0 {
		say("settings of the saved job: %s", strings.Join(p.taken, ", "))
	}
}
