// Package formattest reads golden files: what other programs stored, or what stands in a document, and what it means.
//
// A golden file is a txtar archive, format/CODEC/testdata/golden/NAME.txtar. Its comment says by which program it was made, or
// after which document. Its sections are
//
//	-- cells --      what is stored, as the lines below
//	-- options --    options to read with: a line "name value" each
//	-- write --      options with which our writer gives the same bytes; without this section it need not
//	-- PATH --       a file of text, as it is
//	-- PATH.hex --   a file of any bytes
//
// All files are one file, or lie in one folder. The lines of cells are
//
//	format npz                   the codec that finds it
//	file graph.json              a file of the folder that is no part of the matrices, or one that is
//	file notes.txt "none"        made of something else, and its content
//	matrix w f32 2 x 3 dense     the name of a matrix, its element type, its size, and what absent cells mean
//	labels "age" "height, cm"    and what else it has, if it has: names of columns,
//	types i64 f64 f32            their types,
//	first -5                     the first column, if it is not 0,
//	saved 0 2                    the rows that are saved, if they are not all,
//	shape 3                      the shape of the tensor, if it is another,
//	sequences 0 2 3              offsets of sequences, a line for each level
//	0 1 0.5                      a cell: row, column, value
//
// A value is a number, 0x and the bits of one, or NaN for any NaN. Lines of a file of any bytes are
//
//	# a comment
//	02 00 00 00  rows 2          bytes, two spaces, what they mean
//	00*256  padding              many bytes that are the same
//	`{"w": 1}`  header           text as a Go string
package formattest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"thole.example/blob"
)

// Golden is a file or folder whose content is known.
type Golden struct {
	Name    string            // "angel/hash"
	Format  string            // name of the codec
	Path    string            // of the file or folder
	Files   map[string][]byte // by their paths
	Options map[string]string // to read with
	Write   map[string]string // to write with; nil: our writer need not give the same bytes

	matrices []truth
	beside   map[string][]byte // the files that are no part of the matrices
}

// Goldens are the golden files of the pattern, such as "../*/testdata/golden/*.txtar".
func Goldens(t testing.TB, pattern string) (all []*Golden) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d golden files at %s: %v", len(files), pattern, err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := parse(a)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		whole, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		codec := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(whole))))
		g.Name = codec + "/" + strings.TrimSuffix(filepath.Base(file), ".txtar")
		all = append(all, g)
	}
	return all
}

// Put writes the files into a bucket.
func (g *Golden) Put(t testing.TB, b blob.Bucket) {
	t.Helper()
	for path, data := range g.Files {
		if err := blob.WriteAll(t.Context(), b, path, data); err != nil {
			t.Fatal(err)
		}
	}
}

func parse(a *txtar.Archive) (*Golden, error) {
	g := &Golden{Files: map[string][]byte{}, beside: map[string][]byte{}}
	if len(strings.TrimSpace(string(a.Comment))) == 0 {
		return nil, fmt.Errorf("no comment, want one that says by what it was made")
	}
	for _, f := range a.Files {
		var err error
		path, isHex := strings.CutSuffix(f.Name, ".hex")
		switch {
		case f.Name == "cells":
			err = g.cells(string(f.Data))
		case f.Name == "options":
			g.Options = settings(string(f.Data))
		case f.Name == "write":
			g.Write = settings(string(f.Data))
		case isHex:
			g.Files[path], err = unhex(string(f.Data))
		default:
			g.Files[f.Name] = f.Data
		}
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", f.Name, err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(g.Files)) {
		first, _, _ := strings.Cut(path, "/")
		if g.Path != "" && first != g.Path {
			return nil, fmt.Errorf("files at %s and %s, want one file or one folder", g.Path, first)
		}
		g.Path = first
	}
	for name, data := range g.beside {
		if data == nil {
			g.beside[name] = g.Files[g.Path+"/"+name]
		}
	}
	if len(g.Files) == 0 || g.Format == "" || len(g.matrices) == 0 {
		return nil, fmt.Errorf("%d files, format %q, %d matrices: want some", len(g.Files), g.Format, len(g.matrices))
	}
	return g, nil
}

// settings are the options of lines "name value".
func settings(text string) map[string]string {
	set := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		set[name] = value
	}
	return set
}

// unhex gives the bytes of annotated lines.
func unhex(text string) (data []byte, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		piece, err := bytesOf(line)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		data = append(data, piece...)
	}
	return data, nil
}

func bytesOf(line string) ([]byte, error) {
	if line[0] == '`' || line[0] == '"' {
		quoted, err := strconv.QuotedPrefix(line)
		if rest := strings.TrimPrefix(line, quoted); err == nil && rest != "" && !strings.HasPrefix(rest, "  ") {
			err = fmt.Errorf("%q behind the text, want two spaces", rest)
		}
		if err != nil {
			return nil, err
		}
		s, err := strconv.Unquote(quoted)
		return []byte(s), err
	}
	shown, _, _ := strings.Cut(line, "  ")
	var data []byte
	for _, word := range strings.Fields(shown) {
		one, count, many := strings.Cut(word, "*")
		n := 1
		b, err := hex.DecodeString(one)
		if many && err == nil {
			n, err = strconv.Atoi(count)
		}
		if err != nil || len(b) != 1 || n < 1 {
			return nil, fmt.Errorf("%q, want a byte of two digits", word)
		}
		data = append(data, slices.Repeat(b, n)...)
	}
	return data, nil
}
