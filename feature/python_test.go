package feature

import (
	"encoding/json"
	"strings"
	"testing"
)

// rawColumns are columns of every kind.
func rawColumns(t *testing.T) *Transform {
	t.Helper()
	yes := true
	tr, err := New(Texts{"", "NA"}, []Column{
		{Name: "age", Kind: Numeric, Scale: Standard, Mean: 38.5, Deviation: 13.25, Nothing: true},
		{Name: "income", Kind: Numeric, Scale: None, Log: &yes},
		{Name: "price", Kind: Buckets, Bounds: []float64{1, 2.5}},
		{Name: "city", Kind: Categorical, Levels: Texts{"Köln", "d'Aix", `"a\b"`, "x'''y"}, Other: true},
		{Name: "tags", Kind: Multi, Separator: "|", Levels: Texts{"a", "b"}},
		{Name: "device", Kind: Hash, Size: 64, Compare: AsNumbers},
		{Name: "at", Kind: Date, Format: "%Y-%m-%d %H:%M", Timezone: "Europe/Berlin", Parts: []string{"hour", "weekday", "days"}, Scale: None},
		{Name: "y", Kind: Label, Texts: true, Levels: Texts{"no", "yes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// The module says what each feature is, and holds the transformation and the labels.
func TestPython(t *testing.T) {
	tr := rawColumns(t)
	text, err := tr.Python(PythonOptions{Feed: FeedTrees, Single: true, Model: "my trees.onnx", Module: "my_trees_onnx"})
	if err != nil {
		t.Fatal(err)
	}
	module := string(text)
	for _, want := range []string{
		`session = onnxruntime.InferenceSession("my trees.onnx")`, "my_trees_onnx.feed(rows)", "Missing values: empty cells, None, NaN, NA.",
		"\nfeature 0, age: the number, less 38.5, divided by 13.25; NaN is a missing value\n",
		"\nfeature 1, income: the number, sign(x) ln(1 + |x|); NaN is a missing value\n",
		"\nfeature 2, price: 1 to 3, by which of the 2 bounds are not above the number; NaN is a missing value\n",
		"\nfeature 3, city: the number of the category, 0 is any other, 1 \"Köln\", 2 \"d'Aix\", ",
		"\nfeatures 4 to 6, tags: each category between \"|\", 0 is any other, 1 \"a\", 2 \"b\"\n",
		"\nfeature 7, device: the hash of the text, 0 to 63\n",
		"\nfeature 8, at.hour: hour of the time in the format %Y-%m-%d %H:%M, in the time zone Europe/Berlin: 0 to 23 are 1 to 24; NaN is a missing value\n",
		"at.weekday: weekday of the time in the format %Y-%m-%d %H:%M, in the time zone Europe/Berlin: Sunday to Saturday are 1 to 7;",
		"at.days: days since 1970-01-01 of the time in",
		"\nTYPE = numpy.float32\n", "\nBY_PLACE = False\n", "\n    (\"numeric\", 2, 0, \"age\"),\n", "\n    (\"multi\", 3, ", "\ndef feed(rows):\n",
		`LABELS = json.loads(r'''["no","yes"]''')`,
	} {
		if !strings.Contains(module, want) {
			t.Errorf("no %q in the module:\n%s", want, module[:min(len(module), 4000)])
		}
	}
	_, rest, _ := strings.Cut(module, "_SAVED = json.loads(r'''")
	saved, _, ok := strings.Cut(rest, "''')\n")
	if !ok {
		t.Fatal("no saved transformation")
	}
	var pretty json.RawMessage
	if err := json.Unmarshal([]byte(saved), &pretty); err != nil {
		t.Fatal(err)
	}
	again, err := Parse(pretty)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.Columns[3].Levels[3], tr.Columns[3].Levels[3]; got != want {
		t.Errorf("category %q, want %q", got, want)
	}
	networks, err := tr.Python(PythonOptions{Feed: FeedSparse, ByPlace: true, Model: "m.onnx", Module: "m_onnx"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nids 0 to 1, age: the number, less 38.5, divided by 13.25; id 0 is the number, id 1 a missing value\n", "\nTYPE = numpy.float64\n",
		"KIND = \"sparse\"", "\nBY_PLACE = True\n"} {
		if !strings.Contains(string(networks), want) {
			t.Errorf("no %q in the module", want)
		}
	}
}

// Layouts of older versions are in Go's notation, which the module does not read.
func TestPythonOfOldDates(t *testing.T) {
	tr, err := New(nil, []Column{{Name: "at", Kind: Date, Format: "2006-01-02", Parts: []string{"month"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Python(PythonOptions{Feed: FeedTrees, Model: "m.onnx", Module: "m_onnx"}); err == nil || !strings.Contains(err.Error(), "train the model again") {
		t.Errorf("%v, want a refusal", err)
	}
}
