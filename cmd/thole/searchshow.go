package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"thole.example/blob"
	"thole.example/search"
	"thole.example/train"
)

// again is the plan of a trial on all that it may have: that of the job that is saved.
func (s *searching) again(ctx context.Context, r search.Run) (*plan, error) {
	a := s.final(r)
	if s.cv == 0 {
		return a.plan(ctx, s.env, s.base.train, s.base.valid, true)
	}
	q, err := a.plan(ctx, s.env, s.all, nil, true, heldNone)
	if median := s.of(r).median; err == nil && median > 0 {
		err = q.end(median)
	}
	return q, err
}

// final is the training of a trial on all examples but the held-out ones, also if --sample gave the trials fewer.
func (s *searching) final(r search.Run) *attempt {
	a := s.attempt(r)
	a.before = slices.DeleteFunc(slices.Clone(a.before), func(one setting) bool { return one.flag == "sample" })
	a.examples = 1
	return a
}

// save trains the best trial again and saves it: with the same bits, unless --sample gave the trials fewer examples. After a
// cross-validation the held-out examples are trained on, too.
func (s *searching) save(ctx context.Context, r search.Run, path string) error {
	e := s.env
	if s.asJSON { // standard output is a JSON object
		rest := *e
		rest.out = e.err
		e = &rest
	}
	a := s.final(r)
	if s.sample > 0 && s.sample < 1 {
		fmt.Fprintf(e.err, "the trials were trained on --sample %g of the examples; the best settings are now trained on all %d\n", s.sample,
			s.all.Len())
	}
	if s.cv > 0 {
		all := *s.base
		all.train = s.all
		return all.trainAll(ctx, e, a.before, s.of(r).median, path, a.over...)
	}
	q, err := a.plan(ctx, e, s.base.train, s.base.valid, true, among(s.before, saves)...)
	if err != nil {
		return err
	}
	w, err := newWatcher(ctx, e, q.log, q.force)
	if err != nil {
		return err
	}
	defer w.close()
	return q.trainHere(ctx, e, path, w)
}

// of is the last run of a trial.
func (s *searching) of(r search.Run) *tried {
	for _, t := range slices.Backward(s.tried) {
		if t.run.Trial == r.Trial && t.run.Rung == r.Rung {
			return t
		}
	}
	return &tried{}
}

// inOrder are the runs in the order of trials and rungs, whichever ended first.
func (s *searching) inOrder() []*tried {
	return slices.SortedFunc(slices.Values(s.tried), func(a, b *tried) int {
		return cmp.Or(a.run.Rung-b.run.Rung, a.run.Trial-b.run.Trial)
	})
}

// settingsText is settings as people read them.
func settingsText(all []search.Setting) string {
	var words []string
	for _, one := range all {
		if one.Value != search.Default {
			words = append(words, one.Name+"="+one.Value)
		}
	}
	if words == nil {
		return "defaults"
	}
	return strings.Join(words, " ")
}

// tell tells of a run that has ended.
func (s *searching) tell(t *tried, left time.Duration) {
	part := ""
	if t.run.Share < 1 {
		part = fmt.Sprintf(", %.2g of the %s", t.run.Share, s.resource)
	}
	what := "failed: " + t.failed
	if t.failed == "" {
		m := s.metric(t.metrics)
		what = fmt.Sprintf("%s %.6g%s", m.Name, m.Value, s.base.ofEpoch(t.epochs, t.kept))
	}
	best := ""
	if ranked := s.bracket.Ranked(); len(ranked) > 0 {
		best = fmt.Sprintf(", best %.6g of trial %d", s.metric(s.of(ranked[0]).metrics).Value, ranked[0].Trial+1)
	}
	s.bar.line("trial %d of %d%s: %s%s, %v left: %s", t.run.Trial+1, len(s.drawn), part, what, best, left.Round(time.Second),
		settingsText(t.settings))
}

// print prints the trials, the best ones first, and what leads to the best one.
func (s *searching) print(ranked []search.Run) error {
	if s.asJSON {
		return s.printJSON(ranked)
	}
	var all []*tried
	for _, r := range ranked {
		all = append(all, s.of(r))
	}
	for _, t := range s.inOrder() {
		if t.failed != "" {
			all = append(all, t)
		}
	}
	names := s.metricNames()
	w := tabwriter.NewWriter(s.env.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "TRIAL\t%s\tSECONDS\tSETTINGS\n", strings.ToUpper(strings.Join(append(names, s.base.round()+"s"), "\t")))
	for _, t := range all {
		fmt.Fprintf(w, "%d", t.run.Trial+1)
		for _, name := range names {
			if fmt.Fprint(w, "\t"); t.failed == "" {
				fmt.Fprintf(w, "%.6g", t.metrics.Get(name))
			}
			if t.deviation != nil {
				fmt.Fprintf(w, " ± %.2g", t.deviation.Get(name))
			}
		}
		text := settingsText(t.settings)
		if t.failed != "" {
			text += "  failed: " + escaped(t.failed)
		} else if t.run.Share < 1 {
			text += fmt.Sprintf("  (%.2g of the %s)", t.run.Share, s.resource)
		}
		fmt.Fprintf(w, "\t%s\t%.1f\t%s\n", epochsText(t.epochs, t.kept), t.seconds, text)
	}
	if err := w.Flush(); err != nil || len(ranked) == 0 {
		return err
	}
	_, err := fmt.Fprintf(s.env.out, "best   trial %d: thole train with the flags of this search and %s\n", ranked[0].Trial+1,
		s.flagsText(ranked[0]))
	return err
}

// metricNames are the metrics that are told.
func (s *searching) metricNames() (names []string) {
	for _, t := range s.tried {
		if t.failed != "" {
			continue
		}
		for _, m := range s.base.told(t.metrics) {
			names = append(names, m.Name)
		}
		return names
	}
	return []string{cmp.Or(s.by, "loss")}
}

func epochsText(epochs, kept int) string {
	if kept == 0 || kept == epochs {
		return strconv.Itoa(epochs)
	}
	return fmt.Sprintf("%d of %d", kept, epochs)
}

// flagsText is the flags of a trial beside those of the search.
func (s *searching) flagsText(r search.Run) string {
	over := s.attempt(r).over
	for _, one := range s.before {
		if slices.Contains([]string{"holdout", "holdout-seed", "early-stop"}, one.flag) && s.cv == 0 {
			over = append(over, one)
		}
	}
	var words []string
	for _, one := range over {
		if one.flag == "cv" {
			continue
		}
		words = append(words, "--"+one.flag, strings.Join(one.texts, ","))
	}
	return strings.Join(words, " ")
}

// record is a run as JSON; the order of its keys is that of the fields.
type record struct {
	Trial     int           `json:"trial"` // from 1 on
	Rung      int           `json:"rung,omitempty"`
	Share     float64       `json:"share"`
	Settings  entries       `json:"settings"`
	Seed      uint64        `json:"seed"`
	Epochs    int           `json:"epochs"`
	Best      int           `json:"best,omitempty"` // epoch
	Metrics   train.Metrics `json:"metrics,omitempty"`
	Deviation train.Metrics `json:"deviation,omitempty"`
	Seconds   float64       `json:"seconds"`
	Failed    string        `json:"failed,omitempty"`
}

func (s *searching) record(t *tried) record {
	settings := entries{}
	for _, one := range t.settings {
		if one.Value != search.Default {
			settings = append(settings, entry{one.Name, one.Value})
		}
	}
	return record{t.run.Trial + 1, t.run.Rung, t.run.Share, settings, s.seed + uint64(t.run.Trial), t.epochs, t.kept, t.metrics, t.deviation,
		t.seconds, t.failed}
}

func (s *searching) printJSON(ranked []search.Run) error {
	out := struct {
		Algo     string   `json:"algo"`
		Method   string   `json:"method"`
		Resource string   `json:"resource,omitempty"`
		Metric   string   `json:"metric"`
		Seed     uint64   `json:"seed"`
		Trials   []record `json:"trials"`
		Best     int      `json:"best"` // trial; 0: none
	}{Algo: s.algo, Method: s.method, Resource: s.resource, Metric: cmp.Or(s.by, s.metricNames()[0]), Seed: s.seed, Trials: []record{}}
	for _, t := range s.inOrder() {
		out.Trials = append(out.Trials, s.record(t))
	}
	if len(ranked) > 0 {
		out.Best = ranked[0].Trial + 1
	}
	return json.NewEncoder(s.env.out).Encode(out)
}

// printDrawn prints the trials that would be made.
func (s *searching) printDrawn() error {
	w := tabwriter.NewWriter(s.env.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TRIAL\tSETTINGS")
	for i, settings := range s.drawn {
		fmt.Fprintf(w, "%d\t%s\n", i+1, settingsText(settings))
	}
	return w.Flush()
}

// tableFormat is how a table is written to the path: csv or jsonl; "": that is not known.
func tableFormat(path string) string {
	switch strings.ToLower(blob.Ext(path)) {
	case ".csv":
		return "csv"
	case ".jsonl", ".ndjson":
		return "jsonl"
	}
	if path == "-" {
		return "csv"
	}
	return ""
}

// sinks finds out where the table and the best job go, before anything is read; nil: nowhere.
func (s *searching) sinks(ctx context.Context) (table, best *sink, err error) {
	if err := cmp.Or(s.apart(ctx, "out", s.out), s.apart(ctx, "best", s.best)); err != nil {
		return nil, nil, err
	}
	if s.out != "" {
		if table, err = s.env.sink(s.out, s.force); err != nil {
			return nil, nil, err
		}
	}
	if s.best != "" {
		if err := wantEnding(s.best, "", ".yaml", ".yml"); err != nil {
			return nil, nil, fmt.Errorf("--best: %w", err)
		}
		best, err = s.env.sink(s.best, s.force)
	}
	return table, best, err
}

// writeTable writes all runs, in the order of trials and rungs.
func (s *searching) writeTable(ctx context.Context, to *sink) error {
	var b bytes.Buffer
	if tableFormat(s.out) == "jsonl" {
		enc := json.NewEncoder(&b)
		for _, t := range s.inOrder() {
			if err := enc.Encode(s.record(t)); err != nil {
				return err
			}
		}
		return writeAll(ctx, to, b.Bytes())
	}
	w, names := csv.NewWriter(&b), s.metricNames()
	head := []string{"trial", "share"}
	params := slices.MaxFunc(s.drawn, func(a, b []search.Setting) int { return len(a) - len(b) }) // the first trial has none
	for _, one := range params {
		head = append(head, one.Name)
	}
	w.Write(append(append(head, names...), "epochs", "best", "seed", "seconds", "failed")) // to memory
	for _, t := range s.inOrder() {
		row := []string{strconv.Itoa(t.run.Trial + 1), fmt.Sprintf("%.4g", t.run.Share)}
		for i := range params {
			value := search.Default
			if i < len(t.settings) {
				value = t.settings[i].Value
			}
			row = append(row, value)
		}
		for _, name := range names {
			value := ""
			if t.failed == "" {
				value = strconv.FormatFloat(t.metrics.Get(name), 'g', -1, 64)
			}
			row = append(row, value)
		}
		row = append(row, strconv.Itoa(t.epochs), strconv.Itoa(t.kept), strconv.FormatUint(s.seed+uint64(t.run.Trial), 10),
			strconv.FormatFloat(t.seconds, 'f', 3, 64), t.failed)
		w.Write(row)
	}
	w.Flush()
	return writeAll(ctx, to, b.Bytes())
}

// writeAll writes a file, whole or not at all.
func writeAll(ctx context.Context, to *sink, text []byte) error {
	w, err := to.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	w.Write(text) // Commit gives its error
	return w.Commit()
}
