package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"thole.example/data"
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
		{"data.hash", "hash", nil},
		{"train.epoch", "epochs", nil},
		{"train.numupdateperepoch", "updates", nil},
		{"train.batchsize", "batch", nil},
		{"train.lr", "rate", nil},
		{"train.decayclass", "schedule", nil},
		{"train.seed", "seed", nil},
		{"train.clip", "clip", nil},
		{"train.metrics", "metrics", nil},
		{"train.early_stop.patience", "early-stop", nil},
		{"train.early_stop.metric", "early-stop-metric", nil},
		{"train.early_stop.mode", "early-stop-mode", nil},
		{"train.early_stop.min_delta", "early-stop-delta", nil},
		{"train.checkpoint.path", "checkpoint", nil},
		{"train.checkpoint.every", "checkpoint-every", nil},
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

// get is what the file says of the key, as the flag takes it, of a list its items with zero bytes between them; ok is false if it
// says nothing.
func (k *jobKey) get(f *graph.File) (text string, ok bool) {
	v, ok := k.in(f, false)
	if !ok || v.IsZero() {
		return "", false
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	text = fmt.Sprint(v.Interface())
	if list, ok := v.Interface().([]string); ok {
		text = strings.Join(list, "\x00")
	}
	if k.text != nil {
		return k.text(text)
	}
	return text, true
}

// set puts what a flag says into the file.
func (k *jobKey) set(f *graph.File, text string) error {
	v, _ := k.in(f, true)
	switch v.Interface().(type) {
	case string, graph.Interval:
		v.SetString(text)
		return nil
	case []string:
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
		return nil
	case *graph.Fields:
		fields, err := data.ParseFields(text)
		v.Set(reflect.ValueOf(&graph.Fields{Fields: fields}))
		return err
	}
	return json.Unmarshal([]byte(text), v.Addr().Interface())
}

// in is the place of the key in the file; whole makes the part that it is in, without which ok may be false.
func (k *jobKey) in(f *graph.File, whole bool) (v reflect.Value, ok bool) {
	v = reflect.ValueOf(f).Elem()
	for name := range strings.SplitSeq(strings.ReplaceAll(k.path, "_", ""), ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && !whole {
				return v, false
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	}
	return v, true
}
