package draw

import (
	"strings"
	"unicode"
)

// Sizes of text in points.
const (
	textSize   = 11.0 // in boxes
	labelSize  = 9.5  // on lines
	lineHeight = 15.0
	boldFactor = 1.18 // a bold letter against a plain one
)

// widths are letters of the same width, in hundredths of the size. They are those of the widest fonts that viewers take
// for sans-serif (DejaVu Sans, Verdana), rounded up: what is drawn is never wider.
var widths = func() (table [128]float64) {
	for width, letters := range map[float64]string{
		35: " 'Iijl,./:;\\|", 41: "()-[]ft", 46: "!r", 51: "\"*J`", 56: "csz", 61: "?L_kvxy", 66: "$0123456789FTabdeghnopqu{}",
		71: "ABEKPSVXYZ", 76: "CNRU", 81: "&DGHOQ", 86: "#+<=>^w~M", 101: "%Wm@",
	} {
		for _, r := range letters {
			table[r] = width / 100
		}
	}
	return table
}()

// wideLetter is the width of all letters that are not ASCII.
const wideLetter = 1.7

// textWidth is at least how wide a text is drawn.
func textWidth(s string, size float64, bold bool) float64 {
	wide := 0.0
	for _, r := range s {
		if int(r) < len(widths) {
			wide += widths[r]
		} else {
			wide += wideLetter
		}
	}
	if bold {
		wide *= boldFactor
	}
	return wide*size + 2
}

// plain is text of a file that a terminal or a picture may be shown.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// drawable is text with only such letters as have a known width.
func drawable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80 && unicode.IsPrint(r), r == '…', r == '→':
			return r
		case r < 0xfb00 && unicode.In(r, unicode.L, unicode.N):
			return r
		}
		return '?'
	}, s)
}

// cut shortens a text to so many letters, from its middle: names differ at both ends.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	part := min(len(s), 4*most) // bytes that hold the letters which may be shown
	head, tail := []rune(s[:part]), []rune(s[len(s)-part:])
	if part == len(s) && len(head) <= most {
		return s
	}
	front := most * 2 / 3
	return string(head[:front]) + "…" + string(tail[len(tail)-(most-front-1):])
}
