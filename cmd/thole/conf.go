package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thole.example/graph"
)

// confKey is a key of Angel's configuration that says what a flag of train says.
type confKey struct {
	key, flag string
	text      func(string) (string, bool) // as in jobKey
}

// confKeys is the table of such keys.
func confKeys() []confKey {
	return []confKey{
		{"angel.train.data.path", "data", nil},
		{"angel.save.model.path", "model", nil},
		{"angel.load.model.path", "load", nil},
		{"angel.staleness", "staleness", nil},
		{"ml.data.type", "format", nil},
		{"ml.data.label.trans.class", "labels", nil},
		{"ml.data.label.trans.threshold", "label-threshold", nil},
		{"ml.data.validate.ratio", "holdout", nil},
		{"ml.data.use.shuffle", "in-order", negated},
		{"ml.data.posneg.ratio", "pos-neg", positive},
		{"ml.batch.sample.ratio", "sample", nil},
		{"ml.feature.index.range", "dim", positive},
		{"ml.model.type", "sparse", sparse},
		{"ml.epoch.num", "epochs", nil},
		{"ml.num.update.per.epoch", "updates", nil},
		{"ml.learn.rate", "rate", nil},
		{"ml.reg.l1", "l1", nil},
		{"ml.reg.l2", "l2", nil},
		{"ml.num.class", "classes", nil},
		{"ml.fm.field.num", "fields", positive},
		{"ml.field.num", "fields", positive},
		{"ml.fm.rank", "factors", nil},
	}
}

// hasLabel is the key that says whether examples have labels.
const hasLabel = "ml.data.has.label"

// formatKeys is a table of the keys that say in which of Angel's formats the matrices of layers are saved, and of which kinds of
// layers: those of ours that Angel does not have belong to the nearest of its own.
func formatKeys() map[string][]string {
	return map[string][]string{
		"ml.simpleinputlayer.matrix.output.format": {"simpleinputlayer"},
		"ml.embedding.matrix.output.format":        {"embedding", "fieldawareembedding"},
		"ml.fclayer.matrix.output.format":          {"fclayer", "crosslayer", "batchnormlayer"},
	}
}

// configure gives the flags what Angel's keys say that --conf has.
func (s *settings) configure() error {
	s.name, s.said = "--conf", map[string]string{}
	formats := formatKeys()
	for _, key := range slices.Sorted(maps.Keys(s.job.conf)) {
		if _, known := formats[key]; known {
			continue // the plan takes it
		}
		if text := s.job.conf[key]; key == hasLabel {
			if yes, err := strconv.ParseBool(text); err != nil || !yes {
				return usageError{fmt.Errorf("--conf %s is %q, want true: examples to learn from have labels", key, text)}
			}
			continue
		}
		i := slices.IndexFunc(confKeys(), func(k confKey) bool { return k.key == key })
		if i < 0 {
			return usageError{fmt.Errorf("--conf %s: want a key of Angel's configuration that has a meaning here%s", key, nearConf(key))}
		}
		k, text, ok := confKeys()[i], s.job.conf[key], true
		if k.text != nil {
			text, ok = k.text(text)
		}
		if !ok {
			continue
		}
		if err := s.give(k.flag, "--conf "+key, text); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// nearConf names the key that a misspelt one may stand for.
func nearConf(key string) string {
	known := append(slices.Collect(maps.Keys(formatKeys())), hasLabel)
	for _, k := range confKeys() {
		known = append(known, k.key)
	}
	slices.Sort(known)
	if near := graph.Nearest(key, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// formats are the formats of the kinds of layers, as --conf has them.
func (j *job) formats() map[string]string {
	all := map[string]string{}
	for key, kinds := range formatKeys() {
		for _, kind := range kinds {
			if name := strings.TrimSpace(j.conf[key]); name != "" {
				all[kind] = name
			}
		}
	}
	return all
}
