package data

import (
	"bytes"
	"unicode/utf8"
)

// invalidByte is a byte that is no UTF-8, and the line in which it is, counted from 1; line 0: there is none.
type invalidByte struct {
	line  int64
	value byte
}

// firstInvalid is the first such byte of a text.
func firstInvalid(text []byte) invalidByte {
	if utf8.Valid(text) {
		return invalidByte{}
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			return invalidByte{1 + int64(bytes.Count(text[:at], []byte("\n"))), text[at]}
		}
		at += size
	}
}
