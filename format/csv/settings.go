package csv

import (
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// settings are the options, read.
type settings struct {
	sep     byte  // 0: to be found out
	decimal byte  // likewise
	header  *bool // nil: to be found out
	dtype   matrix.DType
	empty   empty
	round   bool // whole numbers may become the nearest f64
	meta    bool
}

// empty is what a cell without a number stands for.
type empty uint8

const (
	emptyAuto empty = iota // emptyNaN, but with a .meta emptyError
	emptyError
	emptyNaN
	emptyZero
)

var separators = []struct {
	name string
	sep  byte
}{{"tab", '\t'}, {"semicolon", ';'}, {"comma", ','}, {"bar", '|'}, {"space", blankSep}}

// blankSep stands for any number of blanks.
const blankSep = ' '

func sepName(sep byte) string {
	for _, s := range separators {
		if s.sep == sep {
			return s.name
		}
	}
	return "none"
}

func newSettings(o *format.Options) (w settings, err error) {
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
			return w, bad("separator", "auto, comma, tab, semicolon, bar or space")
		}
	}
	switch text("decimal") {
	case "auto":
	case "point":
		w.decimal = '.'
	case "comma":
		w.decimal = ','
	default:
		return w, bad("decimal", "auto, point or comma")
	}
	switch text("inexact") {
	case "error":
	case "round":
		w.round = true
	default:
		return w, bad("inexact", "error or round")
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
	case "auto":
	case "error":
		w.empty = emptyError
	case "nan":
		w.empty = emptyNaN
	case "0":
		w.empty = emptyZero
	default:
		return w, bad("empty", "auto, error, nan or 0")
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
