package main

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/internal/number"
)

// countClasses finds out how many classes there are.
func (p *plan) countClasses() {
	if p.conf.Classes = len(p.train.Classes); p.recipe.Task == algo.Multiclass && p.conf.Classes == 0 {
		p.conf.Classes = int(min(data.ClassLimit, slices.Max(p.train.Label)+1)) // --labels says what the numbers are
	}
}

// sayClasses says which label is which class where it is not plain, and warns of examples that are all of one class: those that were
// drawn or not held out, or that a model goes on with.
func (p *plan) sayClasses(e *env) {
	switch c := p.train.Classes; {
	case p.recipe.Task == algo.Multiclass && c != nil:
		shown := fmt.Sprint(c)
		if texts := p.labelTexts(); len(texts) == len(c) && len(texts) <= 20 {
			shown = fmt.Sprint(texts)
		}
		fmt.Fprintf(e.err, "labels: %d classes, %s\n", len(c), escaped(shown))
	case c != nil && !c.IsStandard():
		fmt.Fprintf(e.err, "labels: %v is the negative class, %v the positive one\n", c[0], c[1])
	}
	if found := p.oneClass(); found != "" {
		fmt.Fprintf(e.err, "warning: %s: there is nothing to tell classes apart by\n", found)
	}
}

// oneClass says of which class all training examples are; "" if they are of both.
func (p *plan) oneClass() string {
	if p.recipe.Task != algo.Classification {
		return ""
	}
	positive := p.train.Label[0] > 0
	if slices.ContainsFunc(p.train.Label, func(y float32) bool { return y > 0 != positive }) {
		return ""
	}
	class := map[bool]string{true: "positive", false: "negative"}[positive]
	if p.train.Len() == 1 {
		return "the only training example is " + class
	}
	return fmt.Sprintf("all %d training examples are %s", p.train.Len(), class)
}

// checkClasses refuses examples, before some are held out, that are all of one class: mostly the labels are others than were meant. Who
// goes on with a model may have such a part of the examples.
func (p *plan) checkClasses(thinned *thinning) error {
	found := p.oneClass()
	if found == "" || p.load != "" || p.goesOn() || thinned != nil && thinned.given > 0 {
		return nil
	}
	where, advice := strings.Join(p.data, ", "), "see --labels, which says what labels are positive"
	switch t := p.train.Transform; {
	case p.labels != "":
		advice = fmt.Sprintf("they are by --labels %s --label-threshold %g", p.labels, p.threshold)
	case t != nil:
		where += fmt.Sprintf(": column %q", t.Label())
		advice = "see --label-column, and --positive of labels that are texts"
	}
	return fmt.Errorf("%s: %s, want two classes: %s (a training that goes on with a model, --load, takes them)", where, found, advice)
}

// sayBare warns of examples that have no features: in most files they are rows of zeros, in some they have lost something.
func (p *plan) sayBare(e *env) {
	if n := p.train.Bare; n > 0 {
		fmt.Fprintf(e.err, "warning: %s: %s of %d without features: only the bias learns from them\n", strings.Join(p.data, ", "),
			number.Of(n, "example"), p.train.Ends[len(p.train.Ends)-1])
	}
}
