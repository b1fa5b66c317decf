package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// noRemedy is the remedy for files that no command converts.
const noRemedy = ""

// foreign are kinds of files that are given in place of examples, each with its first bytes and the command that converts it; FILE is its
// name. The first row that fits counts.
var foreign = []struct{ magic, what, remedy string }{
	{"PK\x03\x04", "a zip archive (as .xlsx files are)", "unzip -p FILE | thole ... --data - --format csv, or save the sheet as CSV"},
	{"PK\x05\x06", "an empty zip archive", noRemedy},
	{"\xfd7zXZ\x00", "a file compressed by xz", "xz -dc FILE | thole ... --data -"},
	{"BZh", "a file compressed by bzip2", "bzip2 -dc FILE | thole ... --data -"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x -so FILE | thole ... --data -"},
	{"\x04\x22\x4d\x18", "a file compressed by lz4", "lz4 -dc FILE | thole ... --data -"},
	{"\x1f\x9d", "a file compressed by compress", "uncompress -c FILE | thole ... --data -"},
	{"LZIP", "a file compressed by lzip", "lzip -dc FILE | thole ... --data -"},
	{"\xff\x06\x00\x00sNaPpY", "a file compressed by snappy", "snzip -dc FILE | thole ... --data -"},
	{"Rar!", "a RAR archive", "unrar p -inul FILE | thole ... --data -"},
	{"\xff\xfe\x00\x00", "text in UTF-32", "iconv -f utf-32 -t utf-8 FILE | thole ... --data -"},
	{"\x00\x00\xfe\xff", "text in UTF-32", "iconv -f utf-32 -t utf-8 FILE | thole ... --data -"},
	{"\xff\xfe", "text in UTF-16", "iconv -f utf-16 -t utf-8 FILE | thole ... --data -"},
	{"\xfe\xff", "text in UTF-16", "iconv -f utf-16 -t utf-8 FILE | thole ... --data -"},
	{"PAR1", "a Parquet file", "--format parquet"},
	{"ARROW1", "an Arrow file (Feather)", "--format arrow"},
	{"\xff\xff\xff\xff", "an Arrow stream", "--format arrow"},
	{"FEA1", "a Feather file of version 1", "pandas.read_feather(FILE).to_parquet(...)"},
	{"\x7fELF", "an executable program", noRemedy},
	{"MZ", "an executable program of Windows", noRemedy},
	{"\xcf\xfa\xed\xfe", "an executable program of macOS", noRemedy},
	{"SQLite format 3\x00", "a SQLite database", "sqlite3 -header -csv FILE 'select * from TABLE' | thole ... --data - --format csv"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", "pandas.read_hdf(FILE).to_parquet(...)"},
	{"ORC", "an ORC file", "pandas.read_orc(FILE).to_parquet(...)"},
	{"Obj\x01", "an Avro file", "a Parquet file of the same rows"},
	{"\x93NUMPY", "a NumPy array", "numpy.savetxt(OUT, numpy.load(FILE)) and --format dense"},
	{"%PDF", "a PDF document", noRemedy},
	{"\x89PNG\r\n", "a PNG image", noRemedy},
	{"\xff\xd8\xff", "a JPEG image", noRemedy},
	{"GIF8", "a GIF image", noRemedy},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document (as .xls files are)", "save the sheet as CSV"},
	{"\x80\x02", "a Python pickle", "pandas.read_pickle(FILE).to_parquet(...)"},
	{"\x80\x03", "a Python pickle", "pandas.read_pickle(FILE).to_parquet(...)"},
	{"\x80\x04\x95", "a Python pickle", "pandas.read_pickle(FILE).to_parquet(...)"},
	{"\x80\x05\x95", "a Python pickle", "pandas.read_pickle(FILE).to_parquet(...)"},
	{"RDX", "a file of R", "write.csv(TABLE, OUT, row.names=FALSE) in R"},
	{"$FL2", "a file of SPSS", "pandas.read_spss(FILE).to_parquet(...)"},
	{"<stata_dta>", "a file of Stata", "pandas.read_stata(FILE).to_parquet(...)"},
	{"<?xml", "an XML document", "pandas.read_xml(FILE).to_parquet(...)"},
	{"<!DOCTYPE", "an HTML page", "download the file again"},
	{"<!doctype", "an HTML page", "download the file again"},
	{"<html", "an HTML page", "download the file again"},
	{"version https://git-lfs.github.com/", "a pointer of Git LFS", "git lfs pull"},
}

// foreignLen is how many bytes are looked at: the magic of tar archives is the last.
const foreignLen = 512

// foreign reports input that begins as a file of another kind does.
func (in *Input) foreign() error {
	start := make([]byte, foreignLen)
	if in.Stream != nil {
		b, ok := in.Stream.(*bufio.Reader)
		if !ok || b.Size() < foreignLen {
			b = bufio.NewReader(in.Stream)
			in.Stream = b
		}
		if _, err := b.Peek(1); err == nil { // an error comes again when it is read
			start, _ = b.Peek(min(foreignLen, b.Buffered())) // more may be long in coming
		} else {
			start = nil
		}
	} else {
		n, _ := in.R.ReadAt(start[:max(0, min(in.Size, foreignLen))], 0)
		start = start[:n]
	}
	what, remedy := Foreign(in.Name, start)
	switch {
	case what == "":
		return nil
	case in.packed && remedy != noRemedy: // the command that converts it does not unpack it
		return fmt.Errorf("%s in compressed form, want text of examples: decompress it, then %s", what,
			strings.ReplaceAll(remedy, in.Name, Unpacked(in.Name)))
	case remedy == noRemedy:
		return errors.New(what + ", want text of examples")
	}
	return fmt.Errorf("%s, want text of examples: %s", what, remedy)
}

// Foreign names the kind of a file of this name that begins with these bytes, and what converts it to examples, if anything does; "" if it
// may be a file of examples.
func Foreign(name string, start []byte) (what, remedy string) {
	for _, f := range foreign {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return f.what, strings.ReplaceAll(f.remedy, "FILE", name)
		}
	}
	if len(start) > tarMagicAt && bytes.HasPrefix(start[tarMagicAt:], []byte("ustar")) {
		return "a tar archive", "tar -xOf " + name + " | thole ... --data - --format csv"
	}
	if isJSON(start) {
		return "JSON", fmt.Sprintf("jq -r '[.NAME, ...] | @csv' %s | thole ... --data - --format csv --names NAME,..., or "+
			"pandas.read_json(%q, lines=True).to_parquet(...)", name, name)
	}
	switch zero := bytes.IndexByte(start, 0); {
	case bytes.Count(start, []byte{'\r'}) > 1 && !bytes.ContainsAny(start, "\n\""):
		return "text whose lines end with carriage returns alone (classic Mac)", "tr '\\r' '\\n' < " + name + " | thole ... --data -"
	case zero < 0 || bytes.Count(start, []byte{0}) < max(fewZeros, len(start)/binaryShare): // a damaged line, whose error says more
		return "", noRemedy
	case zero == 1 && halfZeros(start[1:]):
		return "text in UTF-16 without a byte order mark", "iconv -f utf-16le -t utf-8 " + name + " | thole ... --data -"
	case zero == 0 && halfZeros(start):
		return "text in UTF-16 without a byte order mark", "iconv -f utf-16be -t utf-8 " + name + " | thole ... --data -"
	default:
		return fmt.Sprintf("a binary file (byte %d is 0)", zero), noRemedy
	}
}

// A file is binary from so many zero bytes on, and if one in binaryShare is zero.
const (
	fewZeros    = 4
	binaryShare = 10
)

// tarMagicAt is where the magic of a tar archive stands.
const tarMagicAt = 257

// isJSON reports whether text begins as an object, or a list of objects or lists, of JSON does.
func isJSON(start []byte) bool {
	text := skipBlank(bytes.TrimPrefix(start, []byte(byteOrderMark)))
	if list, ok := bytes.CutPrefix(text, []byte("[")); ok {
		inner := skipBlank(list)
		return len(inner) > 0 && (inner[0] == '{' || inner[0] == '[')
	}
	object, ok := bytes.CutPrefix(text, []byte("{"))
	return ok && bytes.HasPrefix(skipBlank(object), []byte(`"`))
}

// skipBlank is a text without its first blanks and empty lines.
func skipBlank(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// halfZeros reports whether every second byte is 0, the first one included, and no other: as the high bytes of most text in UTF-16.
func halfZeros(text []byte) bool {
	for i, b := range text {
		if (b == 0) != (i%2 == 0) {
			return false
		}
	}
	return len(text) > 2
}
