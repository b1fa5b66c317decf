package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestJSONOf(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a: 1\nb:\n  - x\n  - 0x10\n\n  - 1_000\n", "{\"a\":1,\n\"b\":\n[\"x\",\n16,\n\n1000]}"},
		{"a: 2020-01-01\nb: yes\nc: ~\nd: \"1\"\ne: 1e-5\nf: true", "{\"a\":\"2020-01-01\",\n\"b\":\"yes\",\n\"c\":null,\n\"d\":\"1\",\n\"e\":0.00001,\n\"f\":true}"},
		{"{a: {b: [1, {}]}}", `{"a":{"b":[1,{}]}}`},
		{"s: |\n  x\n  y\nt: 18446744073709551615", "{\"s\":\"x\\ny\\n\",\n\n\n\"t\":18446744073709551615}"},
		{"7", "7"},
	} {
		got, err := jsonOf("job.yaml", []byte(c.src))
		if err != nil || string(got) != c.want {
			t.Errorf("%q is %q, want %q (%v)", c.src, got, c.want, err)
		}
	}
	for _, c := range []struct{ src, want string }{
		{"a: &x 1\nb: *x", "job.yaml:2: an alias (*x), want the value itself"},
		{"a: &x {b: 1}\nc:\n  <<: *x", "job.yaml:3: a key that is no word"},
		{"? [1]\n: 2", "job.yaml:1: a key that is no word"},
		{"a: 1\nb: .inf", "job.yaml:2: .inf, want a finite number"},
		{"a: .nan", "job.yaml:1: .nan, want a finite number"},
		{"a: !!binary aGVsbG8=", "job.yaml:1: a value with the tag !!binary"},
		{"a: !mine 1", "job.yaml:1: a value with the tag !mine"},
		{"a: 1\nb: !!str 1", "job.yaml:2: a value with the tag !!str"},
		{"a: !!int \"1\"", "job.yaml:1: a value with the tag !!int"},
		{"a: !!map {b: 1}", "job.yaml:1: a value with the tag !!map"},
		{"a: 1\n!!str b: 1", "job.yaml:2: a key that is no word"},
		{"a: 1\nb: [1", "job.yaml:"},
		{"a: b: c", "job.yaml:1: mapping values"},
		{"", "none or several YAML documents"},
		{"---\na: 1\n---\nb: 2", "none or several YAML documents"},
		{strings.Repeat("[", 20000), "job.yaml:1: exceeded max depth"},
	} {
		if got, err := jsonOf("job.yaml", []byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q is %.80q, %v, want %q", c.src, got, err, c.want)
		}
	}
}

// What yamlOf writes, jsonOf reads as it was, whatever the texts look like.
func TestYAMLOf(t *testing.T) {
	all := entries{{"texts", []string{"1", "true", "~", "", "a: b", "# x", "é 😀", "1e5", "*x", "&x", "!!int 3", "- x", "a\nb", "<<", "0x10", "2020-01-01"}},
		{"numbers", []float64{0, -1, 1e-300, 1e300, 0.1}}, {"of", entries{{"deep", map[string]int{"a": 1}}, {"empty", entries{}}, {"none", nil}}}}
	want, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yamlOf(all, "# comment")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("# comment\n")) || !bytes.HasSuffix(text, []byte("\n")) {
		t.Errorf("got\n%s", text)
	}
	got, err := jsonOf("x", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("\n%s\nis %s, want %s", text, got, want)
	}
}

// Whatever stands in a file, what comes out is JSON of no more lines, but for what is left out at the end.
func FuzzJSONOf(f *testing.F) {
	f.Add([]byte("a: 1\nb:\n  - x\n"))
	f.Add([]byte("a: &x [1]\nb: [*x, *x]"))
	f.Add([]byte("{a: 'b', ? c : \"\\x41\"}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := jsonOf("x", src)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Errorf("%q is %q", src, got)
		}
		if in, out := bytes.Count(src, []byte("\n"))+bytes.Count(src, []byte("\r")), bytes.Count(got, []byte("\n")); out > in+1 && !bytes.ContainsAny(src, "\u0085\u2028\u2029\x00") {
			t.Errorf("%q of %d lines is %q of %d", src, in, got, out)
		}
	})
}
