package data

import (
	"context"
	"strings"
	"testing"
)

// Files of other kinds are named as what they are, with what makes examples of them.
func TestForeign(t *testing.T) {
	for start, want := range map[string]string{
		"PK\x03\x04....": "zip archive", "\xfd7zXZ\x00...": "xz -dc x.libsvm |", "BZh91AY&SY": "bzip2 -dc x.libsvm |", "7z\xbc\xaf\x27\x1c": "7z x -so",
		"{\"a\": 1}\n": "JSON", "{\n  \"a\": 1}\n": "JSON", "[\n {\n": "JSON", "[[1, 2],\n": "JSON", "\x7fELF\x02": "an executable program",
		"\x89PNG\r\n\x1a\n": "a PNG image", "1\x00 \x001\x00:\x00": "iconv -f utf-16le", "\x001\x00 \x001\x00:": "iconv -f utf-16be",
		"\xff\xfe\x00\x001\x00": "iconv -f utf-32 ", "1 1:\x00\x00\x00\x002": "a binary file (byte 4 is 0)", "\xfe\xff\x001": "iconv -f utf-16 -t utf-8",
		"base.csv" + strings.Repeat("\x00", 249) + "ustar": "a tar archive", "version https://git-lfs.github.com/spec/v1": "git lfs pull",
		"\xff\xfe1\x00": "iconv -f utf-16 -t utf-8 x.libsvm", "PAR1\x15": "--format parquet",
		"ARROW1\x00\x00": "--format arrow", "1 1:2\n": "", "1 1:2\r0 1:3\r1 1": "tr '\\r' '\\n' < x.libsvm |",
	} {
		for _, format := range []string{"libsvm", "csv"} {
			in := Input{Name: "x.libsvm", Stream: strings.NewReader(start)}
			var err error
			for _, e := range Read(context.Background(), in, Options{Format: format, Table: &Table{Transform: nil}}) {
				err = e
			}
			if want == "" && format == "libsvm" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q as %s: %v, want %q", start, format, err, want)
			}
		}
	}
}
