package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"thole.example/graph"
)

// jobKey is a key of the grammar that says what a flag of train says.
type jobKey struct {
	path, flag string
	// text turns what the file says into what the flag would; ok is false if that is nothing. nil: as it is.
	text func(string) (string, bool)
}

// jobKeys is the table of such keys. Those with a text of their own are only read: a job is saved by the flag's name then.
func jobKeys() []jobKey {
	return []jobKey{
		{"data.path", "data", nil},
		{"data.format", "format", nil},
		{"data.indexrange", "dim", positive},
		{"data.validateratio", "holdout", nil},
		{"data.sampleratio", "sample", nil},
		{"data.useshuffle", "in-order", negated},
		{"data.posnegratio", "pos-neg", positive},
		{"data.translabel", "labels", nil},
		{"data.fields", "fields", nil},
		{"train.epoch", "epochs", nil},
		{"train.numupdateperepoch", "updates", nil},
		{"train.batchsize", "batch", nil},
		{"train.lr", "rate", nil},
		{"train.decayclass", "schedule", nil},
		{"train.seed", "seed", nil},
		{"train.clip", "clip", nil},
		{"model.loadpath", "load", nil},
		{"model.savepath", "model", nil},
		{"model.modeltype", "sparse", sparse},
	}
}

// positive is the number, if it is above 0: Angel says -1 where it leaves something open.
func positive(text string) (string, bool) { return text, !strings.HasPrefix(text, "-") }

func negated(text string) (string, bool) { return fmt.Sprint(text == "false"), true }

// sparse reports whether a row type of Angel keeps only the columns that occur.
func sparse(text string) (string, bool) {
	return fmt.Sprint(strings.Contains(strings.ToUpper(text), "SPARSE")), true
}

// get is what the file says of the key, as the flag takes it; ok is false if it says nothing.
func (k *jobKey) get(f *graph.File) (text string, ok bool) {
	v := k.in(f)
	if v.IsZero() {
		return "", false
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	text = fmt.Sprint(v.Interface())
	if k.text != nil {
		return k.text(text)
	}
	return text, true
}

// set puts what a flag says into the file.
func (k *jobKey) set(f *graph.File, text string) error {
	v := k.in(f)
	if v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	if strings.Contains(text, ",") { // the first columns of fields
		text = "[" + text + "]"
	}
	return json.Unmarshal([]byte(text), v.Addr().Interface())
}

// in is the place of the key in the file.
func (k *jobKey) in(f *graph.File) reflect.Value {
	v := reflect.ValueOf(f).Elem()
	for name := range strings.SplitSeq(k.path, ".") {
		v = v.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	}
	return v
}
