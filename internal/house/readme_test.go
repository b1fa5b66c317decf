package house

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/format/all"
	"thole.example/metric"
	"thole.example/optim"
)

var update = flag.Bool("update", false, "rewrite the tables of the README and of docs")

// tables are the sections of the README that stand between <!-- name --> and <!-- /name -->.
var tables = map[string]func() string{
	"formats":    formats,
	"algorithms": algorithms,
	"sources":    sources,
}

func table(head ...string) (*strings.Builder, func(cells ...string)) {
	var b strings.Builder
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	row(head...)
	fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(head)))
	return &b, row
}

func formats() string {
	b, row := table("format", "what it is", "reads", "writes")
	for _, c := range all.Codecs() {
		i := c.Info()
		row("`"+i.Name+"`", i.Title, i.Reads, i.Writes)
	}
	return b.String()
}

func algorithms() string {
	b, row := table("algorithm", "what it learns", "task", "rule, learning rate, batch unless told otherwise")
	for _, a := range algo.Algos() {
		d := a.For(nil, "")
		batch := strconv.Itoa(d.Batch)
		if d.Batch == 0 {
			batch = "by the examples"
		}
		row("`"+a.Name+"`", a.Help, string(a.Task), fmt.Sprintf("%s, %v, %s", d.Rule, d.Rate, batch))
	}
	return b.String()
}

func rules() string {
	b, row := table("rule", "what it does", "slots", "first rate for classes, for regression", "settings")
	for _, r := range optim.Rules() {
		var settings []string
		for _, h := range r.Hyper {
			settings = append(settings, h.Name+" "+h.Begins())
		}
		row("`"+r.Name+"`", r.Help, fmt.Sprint(r.Slots), fmt.Sprintf("%v, %v", r.Rates.Classes, r.Rates.Numbers), strings.Join(settings, ", "))
	}
	return b.String()
}

func sources() string {
	b, row := table("source", "lines of examples")
	for _, s := range data.Sources() {
		row("`"+s.Name+"`", s.Help)
	}
	return b.String()
}

func TestReadmeTables(t *testing.T) {
	text := keepTables(t, "README.md", tables)
	if n := lines([]byte(text)); n > 200 {
		t.Errorf("README.md: %d lines, want at most 200", n)
	}
}

func TestRules(t *testing.T) {
	keepTables(t, "docs/algorithms.md", map[string]func() string{"rules": rules})
}

func measures() string {
	b, row := table("metric", "what it is", "of", "better", "needs")
	for _, m := range metric.Metrics() {
		var tasks, needs []string
		for _, t := range m.Tasks {
			tasks = append(tasks, string(t))
		}
		for need, is := range map[string]bool{"probabilities": m.Probability, "groups": m.Groups} {
			if is {
				needs = append(needs, need)
			}
		}
		slices.Sort(needs)
		row("`"+m.Name+"`", m.Help, strings.Join(tasks, ", "), string(m.Better), strings.Join(needs, ", "))
	}
	return b.String()
}

func TestMetricsTable(t *testing.T) {
	keepTables(t, "docs/evaluation.md", map[string]func() string{"metrics": measures})
}

// keepTables compares the sections of a page between <!-- name --> and <!-- /name --> with those of the code, or rewrites them.
// It gives the page.
func keepTables(t *testing.T, page string, tables map[string]func() string) string {
	t.Helper()
	old, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(old)
	for name, generate := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		got, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no section between %q and %q", page, strings.TrimSpace(begin), end)
			continue
		}
		want := generate()
		if got != want && !*update {
			t.Errorf("%s: the table of %s is\n%s\nwant\n%s\n(go test ./internal/house -update rewrites it)", page, name, got, want)
		}
		text = before + begin + want + end + after
	}
	if *update && text != string(old) {
		if err := os.WriteFile(filepath.Join(root, page), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

var (
	link   = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```") // code has brackets of its own
)

// TestLinks holds every link of a page to a file of the repository.
func TestLinks(t *testing.T) {
	names, err := files()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text, err := read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
	if found == 0 {
		t.Error("no link in any page: the test finds nothing")
	}
}
