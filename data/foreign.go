package data

import (
	"bufio"
	"bytes"
	"fmt"
)

// foreign are files that are often named as examples and are none, each with the bytes at its beginning and the command that makes
// examples of it; FILE is its name.
var foreign = []struct{ magic, what, remedy string }{
	{"PK\x03\x04", "a zip archive (as .xlsx files are)", "unzip -p FILE | thole ... --data - --format csv, or save the sheet as CSV"},
	{"\xfd7zXZ\x00", "text packed by xz", "xz -dc FILE | thole ... --data -"},
	{"BZh", "text packed by bzip2", "bzip2 -dc FILE | thole ... --data -"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x -so FILE | thole ... --data -"},
	{"\x04\x22\x4d\x18", "text packed by lz4", "lz4 -dc FILE | thole ... --data -"},
	{"\x1f\x9d", "text packed by compress", "uncompress -c FILE | thole ... --data -"},
	{"Rar!", "a RAR archive", "unrar p -inul FILE | thole ... --data -"},
	{"\xff\xfe", "text in UTF-16", "iconv -f utf-16 -t utf-8 FILE | thole ... --data -"},
	{"\xfe\xff", "text in UTF-16", "iconv -f utf-16 -t utf-8 FILE | thole ... --data -"},
	{"PAR1", "a Parquet file", "--format parquet"},
	{"ARROW1", "an Arrow file (Feather)", "--format arrow"},
	{"\x7fELF", "a program", "examples"},
	{"SQLite format 3\x00", "a SQLite database", "sqlite3 -header -csv FILE 'select * from TABLE' | thole ... --data - --format csv"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", "pandas.read_hdf(FILE).to_parquet(...)"},
	{"ORC", "an ORC file", "pandas.read_orc(FILE).to_parquet(...)"},
	{"Obj\x01", "an Avro file", "a Parquet file of the same rows"},
	{"\x93NUMPY", "a NumPy array", "numpy.savetxt(OUT, numpy.load(FILE)) and --format dense"},
	{"%PDF", "a PDF document", "examples"},
	{"\x80\x04\x95", "a Python pickle", "pandas.read_pickle(FILE).to_parquet(...)"},
	{"\x80\x05\x95", "a Python pickle", "pandas.read_pickle(FILE).to_parquet(...)"},
	{"<?xml", "an XML document", "a table, such as CSV"},
	{"<!DOCTYPE", "an HTML page", "the file itself, as a download may have failed"},
	{"<html", "an HTML page", "the file itself, as a download may have failed"},
}

// foreignLen is how many bytes tell.
const foreignLen = 64

// foreign reports text that begins as a file of another kind does.
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
	return foreignTo(in.Name, start)
}

// foreignTo reports that a file begins as one of another kind.
func foreignTo(name string, start []byte) error {
	for _, f := range foreign {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return fmt.Errorf("%s, want text of examples: %s", f.what, bytes.ReplaceAll([]byte(f.remedy), []byte("FILE"), []byte(name)))
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte(byteOrderMark)), " \t\r\n")
	if bytes.HasPrefix(text, []byte(`{"`)) || bytes.HasPrefix(text, []byte(`[{`)) {
		return fmt.Errorf("JSON, want text of examples: jq -r '[.NAME, ...] | @csv' %s | thole ... --data - --format csv --names NAME,..., or "+
			"pandas.read_json(%q, lines=True).to_parquet(...)", name, name)
	}
	return nil
}
