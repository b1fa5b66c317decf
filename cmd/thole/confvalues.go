package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"thole.example/algo"
	"thole.example/internal/spell"
	"thole.example/matrix"
)

// numberOf is a finite number.
func numberOf(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errors.New("want a number")
	}
	return v, nil
}

// fromZero is the number if it is 0 or more: Angel says -1 where it leaves something open.
func fromZero(_ *settings, text string) (string, bool, error) {
	v, err := numberOf(text)
	return text, v >= 0, err
}

// asDelta is the number as a setting of the loss; 1 is what the loss begins with.
func asDelta(_ *settings, text string) (string, bool, error) {
	v, err := numberOf(text)
	return "delta=" + text, v != 1, err
}

// truth is true or false, as Angel reads them: in letters of any case.
func truth(_ *settings, text string) (string, bool, error) {
	if yes := strings.ToLower(text); yes == "true" || yes == "false" {
		return yes, true, nil
	}
	return "", false, errors.New("want true or false")
}

// untruth is the contrary.
func untruth(_ *settings, text string) (string, bool, error) {
	yes, ok, err := truth(nil, text)
	return strconv.FormatBool(yes == "false"), ok, err
}

// batchOrEpoch is what the rate changes by.
func batchOrEpoch(_ *settings, text string) (string, bool, error) {
	yes, ok, err := truth(nil, text)
	return map[string]string{"true": "batch", "false": "epoch"}[yes], ok, err
}

// className is the name of a class without its package.
func className(_ *settings, text string) (string, bool, error) {
	return text[strings.LastIndexByte(text, '.')+1:], true, nil
}

// separatorOf is the separator that stands for Angel's regular expression; blanks always separate.
func separatorOf(_ *settings, text string) (string, bool, error) {
	one, known := map[string]string{
		`\s+`: "", `\s`: "", ` `: "", ` +`: "", `\t`: "\t", "\t": "\t", `,`: ",", `;`: ";", `|`: "|", `\|`: "|", `[|]`: "|",
	}[text]
	if !known {
		return "", false, errors.New(`want \s+ (blanks) or one of , ; \t \|, which --separator takes; other regular expressions are not read`)
	}
	return one, one != "", nil
}

// action is what to do: this command trains.
func (s *settings) action(text string) (string, bool, error) {
	switch strings.ToLower(text) {
	case "train", "inctrain":
		return "", false, nil
	case "predict":
		return "", false, errors.New("want train or inctrain; to predict, say thole predict --model PATH --data FILE --out FILE")
	}
	return "", false, errors.New("want train or inctrain")
}

// submit is the class that Angel begins with.
func (s *settings) submit(text string) (string, bool, error) {
	name, _, _ := className(nil, text)
	if strings.EqualFold(name, "GraphRunner") {
		return "", false, nil
	}
	switch a, err := algo.Find(name); {
	case err != nil:
		return "", false, fmt.Errorf("want GraphRunner or GBDTRunner: %w", err)
	case a.Trees != "":
		return a.Name, true, nil
	}
	return "", false, errors.New("want GraphRunner, and the algorithm as ml.model.class.name")
}

// labelled is whether examples have labels.
func (s *settings) labelled(text string) (string, bool, error) {
	if yes, _, err := truth(nil, text); err != nil || yes != "true" {
		return "", false, errors.New("want true: examples to learn from have labels")
	}
	s.warn("--conf ml.data.has.label has no effect: examples to learn from have labels")
	return "", false, nil
}

// graph is the file of the network, unless the job has it: that is how a job is saved.
func (s *settings) graph(text string) (string, bool, error) { return text, s.job.network == nil, nil }

// algorithm is the algorithm by its class. A graph says itself what it is; the class must not be that of another.
func (s *settings) algorithm(text string) (string, bool, error) {
	drawn := s.job.network != nil || s.job.graphFile != "" || s.job.conf["angel.ml.conf"] != "" && !s.user["graph"]
	if name, _, _ := className(nil, text); drawn && slices.Contains([]string{"GraphModel", "AngelModel"}, name) {
		return "", false, nil
	}
	a, err := algo.Find(text)
	if err != nil {
		return "", false, fmt.Errorf("want a class of Angel's or an algorithm: %w", err)
	}
	if drawn { // which is where Angel's classes of networks look for the sizes of their layers
		s.job.class = a.Name
	}
	return a.Name, !drawn, nil
}

// rowType is how the model is kept.
func (s *settings) rowType(text string) (string, bool, error) {
	t, err := rowType(text)
	if err == nil && t.DType() == matrix.F64 {
		s.warn("--conf ml.model.type %s: weights are kept as float32", text)
	}
	return strconv.FormatBool(t.Layout() == matrix.RowSparse), err == nil, err
}

// rowType is one of Angel's row types that a model may have.
func rowType(name string) (matrix.RowType, error) {
	var known []string
	for _, t := range matrix.RowTypes() {
		if d := t.DType(); d != matrix.F32 && d != matrix.F64 {
			continue
		}
		if known = append(known, t.String()); strings.EqualFold(t.String(), name) {
			return t, nil
		}
	}
	return -1, fmt.Errorf("want T_FLOAT_DENSE, T_FLOAT_SPARSE or T_FLOAT_SPARSE_LONGKEY%s", spell.Hint(name, known))
}

// columns is how many columns are expected to occur.
func (s *settings) columns(text string) (string, bool, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", false, errors.New("want a whole number")
	}
	s.job.expected = n
	return "", false, nil
}

// tasks is how many tasks there are: those of a group of workers, for each group.
func (s *settings) tasks(text string) (string, bool, error) {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > jobTasksLimit {
		return "", false, fmt.Errorf("want a whole number from 1 to %d", jobTasksLimit)
	}
	all := 1
	for _, key := range []string{"angel.workergroup.number", "angel.worker.task.number"} {
		if n, err := strconv.Atoi(s.job.conf[key]); err == nil { // else it is not given, or refused
			all *= n
		}
	}
	return strconv.Itoa(all), true, nil
}

// ratio is the share of the examples to hold out, of which Angel takes every k-th one.
func (s *settings) ratio(text string) (string, bool, error) {
	return text, true, s.holdsInterval("ml.data.validate.ratio")
}

// holdsInterval makes the share that Angel's key names that of every k-th example.
func (s *settings) holdsInterval(key string) error {
	if s.user["holdout"] {
		return nil
	}
	return s.give("holdout-by", key, holdInterval)
}

// servers is how many servers there are, for a command that starts them.
func (s *settings) servers(text string) (string, bool, error) {
	if f := s.flags.Lookup("servers"); f == nil || f.Value.Type() != "int" {
		s.warn("--conf angel.ps.number has no effect: the servers of this command run already")
		return "", false, nil
	}
	return text, true, nil
}
