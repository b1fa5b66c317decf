package csv

import (
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// wish is the options, read.
type wish struct {
	sep    byte  // 0: to be found out
	header *bool // nil: to be found out
	dtype  matrix.DType
	empty  empty
	meta   bool
}

// empty is what a cell without text stands for.
type empty uint8

const (
	emptyError empty = iota
	emptyNaN
	emptyZero
)

var separators = []struct {
	name string
	sep  byte
}{{"tab", '\t'}, {"semicolon", ';'}, {"comma", ','}}

func sepName(sep byte) string {
	for _, s := range separators {
		if s.sep == sep {
			return s.name
		}
	}
	return "none"
}

func newWish(o *format.Options) (w wish, err error) {
	info := codec{}.Info()
	if err := o.CheckSet(info); err != nil {
		return w, err
	}
	text := func(name string) string { return o.Get(info, name) }
	bad := func(name, want string) error {
		return fmt.Errorf("option %s is %q, want %s: %w", name, text(name), want, format.ErrOption)
	}
	if v := text("separator"); v != "auto" {
		for _, s := range separators {
			if v == s.name || v == string(s.sep) {
				w.sep = s.sep
			}
		}
		if w.sep == 0 {
			return w, bad("separator", "auto, comma, tab or semicolon")
		}
	}
	yes, no := true, false
	switch text("header") {
	case "auto":
	case "true":
		w.header = &yes
	case "false":
		w.header = &no
	default:
		return w, bad("header", "auto, true or false")
	}
	if v := text("type"); v != "auto" {
		if w.dtype, err = matrix.ParseDType(v); err != nil {
			return w, bad("type", "auto or an element type")
		}
	}
	switch text("empty") {
	case "error":
	case "nan":
		w.empty = emptyNaN
	case "0":
		w.empty = emptyZero
	default:
		return w, bad("empty", "error, nan or 0")
	}
	switch text("meta") {
	case "true":
		w.meta = true
	case "false":
	default:
		return w, bad("meta", "true or false")
	}
	return w, nil
}
