// Package report writes how well a model predicts as one HTML page: metrics, curves, tables and pictures. A page needs nothing but
// itself: it has no script and asks for nothing from anywhere, and browsers are told to refuse it, should there be any. The numbers are
// those of package metric/curve, the pictures those of package chart. The same input gives the same bytes.
package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"

	"thole.example/chart"
	"thole.example/metric"
)

// Report is what a page is made of.
type Report struct {
	Title   string
	Facts   []Fact // what was measured: the model, the examples
	Metrics []Value
	Task    metric.Task
	Input   *metric.Input // which Check accepts
	// Classes are what users call the classes: of two the negative and the positive one, of several each. A class without a name has
	// its number.
	Classes []string
}

// Fact is something that is so.
type Fact struct{ Name, Text string }

// Value is a metric and what it is.
type Value struct {
	Name  string
	Value float64
	Help  string
}

// section is a part of a page.
type section struct {
	Title, Text string
	Pictures    []template.HTML
	Tables      []table
}

// table has numbers in all columns but the first, which may be a name.
type table struct {
	Title string
	Head  []string
	Rows  []tableRow
}

type tableRow struct {
	Cells []string
	Mark  bool // it is to be seen first
}

func (t *table) add(mark bool, cells ...string) { t.Rows = append(t.Rows, tableRow{cells, mark}) }

// Write writes the page. An error is one of w.
func (r *Report) Write(w io.Writer) error {
	sections := []section{r.measured()}
	switch r.Task {
	case metric.Classification:
		sections = append(sections, r.twoClasses()...)
	case metric.Multiclass:
		sections = append(sections, r.classes()...)
	case metric.Ranking:
		sections = append(sections, r.ranked()...)
	default:
		sections = append(sections, r.numbers()...)
	}
	return page.Execute(w, map[string]any{"Report": r, "Sections": sections})
}

// measured is the table of the metrics.
func (r *Report) measured() section {
	t := table{Head: []string{"metric", "value", "what it is"}}
	for _, m := range r.Metrics {
		t.add(false, m.Name, number(m.Value), m.Help)
	}
	return section{Title: "Metrics", Tables: []table{t}}
}

// class is what users call a class.
func (r *Report) class(k int) string {
	if k < len(r.Classes) {
		return r.Classes[k]
	}
	return strconv.Itoa(k)
}

// picture is a chart as part of a page.
func picture(c *chart.Chart) template.HTML {
	var b bytes.Buffer
	_ = c.SVG(&b) // a Buffer does not fail
	return template.HTML(b.String())
}

// number is a number as people read it, a dash for none.
func number(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.5g", v)
}

// amount is a sum of weights: a number of examples where there are none.
func amount(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return number(v)
}

func percent(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*v)
}
