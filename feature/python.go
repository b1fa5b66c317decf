package feature

import (
	"bytes"
	_ "embed" // of the functions of the module
	"encoding/json"
	"fmt"
	"strings"
)

// pythonCode is the part of the module that is the same for all models.
//
//go:embed transform.py
var pythonCode string

// PythonFeed is what an exported model takes for a row.
type PythonFeed string

// The feeds.
const (
	FeedTrees  PythonFeed = "trees"  // a value for each feature, NaN where it is missing
	FeedSparse PythonFeed = "sparse" // ids of features and their values
	FeedDense  PythonFeed = "dense"  // a value for each id
)

// PythonOptions describe the exported model that a Python module makes inputs for.
type PythonOptions struct {
	Feed    PythonFeed
	Single  bool   // trees compare float32
	ByPlace bool   // of FeedSparse: the place of a value is its field, which has one value
	Model   string // base name of the model's file
	Module  string // name of the Python file without its ending, for the example in its documentation
}

// Python returns a Python module whose function feed makes the inputs of an exported model from raw rows. It needs numpy only. The error is
// ErrSpec where dates have layouts of older versions that Python does not know.
func (t *Transform) Python(o PythonOptions) ([]byte, error) {
	for i := range t.Columns {
		if k := t.clocks[i]; k != nil && k.old != "" {
			return nil, wrong("column %q: its date format %q is that of an older version, want strptime notation: train the model again",
				t.Columns[i].Name, k.old)
		}
	}
	text, err := t.JSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(pythonHead(o.Model) + "\n\n")
	fmt.Fprintf(&b, "    import csv, onnxruntime, %s\n", o.Module)
	fmt.Fprintf(&b, "    rows = list(csv.DictReader(open(\"rows.csv\", encoding=\"utf-8\")))\n")
	fmt.Fprintf(&b, "    session = onnxruntime.InferenceSession(%s)\n", oneLine(pythonString(o.Model)))
	fmt.Fprintf(&b, "    score, prediction = session.run([\"score\", \"prediction\"], %s.feed(rows))\n\n", o.Module)
	for _, line := range t.describe(o.Feed) {
		b.WriteString(oneLine(line) + "\n")
	}
	b.WriteString("\"\"\"\n\nimport bisect, datetime, decimal, functools, json, math, re, zoneinfo\n\nimport numpy\n\n")
	fmt.Fprintf(&b, "KIND = %q\n", o.Feed)
	fmt.Fprintf(&b, "TYPE = numpy.%s\n", map[bool]string{true: "float32", false: "float64"}[o.Single])
	b.WriteString("# Whether the place of a value is its field, which has one value then.\n")
	fmt.Fprintf(&b, "BY_PLACE = %s\n", map[bool]string{true: "True", false: "False"}[o.ByPlace])
	b.WriteString("# For each field of features: what it holds, how many ids it has, the first of them, and the name of the field.\n")
	b.WriteString("FIELDS = [\n")
	for i := range t.Fields() {
		f := t.Field(i)
		fmt.Fprintf(&b, "    (%q, %d, %d, %s),\n", howPython(f.Kind), f.Size, f.First, pythonString(f.Name))
	}
	b.WriteString("]\n# The columns of training. Category i of levels, counted from 1, has the id i.\n")
	fmt.Fprintf(&b, "_SAVED = json.loads(r'''%s''')\n", strings.ReplaceAll(string(text), "'", `\u0027`))
	b.WriteString("COLUMNS = _SAVED[\"columns\"]\nMISSING = {\"\", *(t for t in _SAVED[\"missing\"] if isinstance(t, str))}\n" +
		"FLOAT32 = _SAVED.get(\"numbers\") != \"float64\"\n")
	if texts := t.LabelTexts(); texts != nil {
		labels, err := json.Marshal(texts)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "LABELS = json.loads(r'''%s''')  # of classes 0, 1 and so on\n", strings.ReplaceAll(string(labels), "'", `\u0027`))
	}
	b.WriteString("\n\n")
	b.WriteString(pythonCode)
	return b.Bytes(), nil
}

// oneLine replaces what would end a line or the documentation string of the module.
func oneLine(text string) string {
	text = strings.NewReplacer("\\", "/", `"""`, `'''`, "\n", " ", "\r", " ").Replace(text)
	return strings.ToValidUTF8(text, "?")
}

// pythonString is a Python string literal.
func pythonString(text string) string {
	quoted, _ := json.Marshal(text) // a string always can be
	return string(quoted)
}

// howPython is what the module does with a field.
func howPython(k Kind) string {
	switch k {
	case Numeric, Buckets, Multi:
		return string(k)
	}
	return string(Categorical)
}

// describe lists, a line for each field, how cells become features.
func (t *Transform) describe(feed PythonFeed) (lines []string) {
	lines = append(lines, "Missing values: empty cells, None, NaN, "+strings.TrimSpace(strings.Join(t.Missing, " "))+".")
	at := int64(0)
	for i := range t.fields {
		f := &t.fields[i]
		c := &t.Columns[f.column]
		place := fmt.Sprintf("ids %d to %d", f.base, f.base+f.size-1)
		switch {
		case feed == FeedTrees && c.Kind == Multi:
			place = fmt.Sprintf("features %d to %d", at, at+f.size-1)
			at += f.size
		case feed == FeedTrees:
			place = fmt.Sprintf("feature %d", at)
			at++
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %s", place, f.name, f.meaning(c, feed)))
	}
	return lines
}

// meaning is what the ids or the feature of a field stand for.
func (f *field) meaning(c *Column, feed PythonFeed) string {
	lack := "id 0 is a missing value"
	if feed == FeedTrees {
		lack = "NaN is a missing value"
	}
	of := ""
	if f.part != nil {
		of = " of the time in the format " + c.Format
		if c.Timezone != "" {
			of += ", in the time zone " + c.Timezone
		}
	}
	switch {
	case f.part != nil && f.part.values > 0:
		return fmt.Sprintf("%s%s: %s to %s are 1 to %d; %s", f.part.name, of, f.part.text(0), f.part.text(f.part.values-1), f.part.values, lack)
	case f.kind == Numeric:
		if feed != FeedTrees {
			lack = "id 0 is the number, id 1 a missing value"
		}
		what := "the number"
		if f.part != nil {
			what = "days since 1970-01-01" + of
		} else if c.Format == DurationFormat {
			what = "the seconds of a duration"
		}
		return what + f.scaling(c) + "; " + lack
	case f.kind == Buckets:
		return fmt.Sprintf("1 to %d, by which of the %d bounds are not above the number; %s", len(c.Bounds)+1, len(c.Bounds), lack)
	case f.kind == Hash:
		return fmt.Sprintf("the hash of the text, 0 to %d", c.Size-1)
	}
	some := ""
	for i, text := range c.Levels {
		if i == 5 {
			some += ", ..."
			break
		}
		some += fmt.Sprintf(", %d %q", i+1, text)
	}
	if c.Kind == Multi {
		return fmt.Sprintf("each category between %q, 0 is any other%s", c.Separator, some)
	}
	return "the number of the category, 0 is any other" + some
}

// scaling is what happens to a number.
func (f *field) scaling(c *Column) (text string) {
	if c.Log != nil && *c.Log {
		text = ", sign(x) ln(1 + |x|)"
	}
	if c.Scale != None {
		text += fmt.Sprintf(", less %v", c.Mean)
		if c.Deviation > 0 {
			text += fmt.Sprintf(", divided by %v", c.Deviation)
		}
	}
	return text
}

// pythonHead is the first line of the module of a model.
func pythonHead(model string) string {
	return "\"\"\"Inputs of " + oneLine(model) + " for raw rows, as the model learned from them."
}

// IsPython reports whether the text is one that Python made for a model of that name.
func IsPython(text []byte, model string) bool {
	return bytes.HasPrefix(text, []byte(pythonHead(model)+"\n"))
}
