package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ParseJSON reads a graph.json. What the layers mean is checked by whoever builds them.
func ParseJSON(src []byte) (*File, error) {
	f, err := Parse(FileName, src)
	if err == nil && len(f.Layers) == 0 {
		return nil, fmt.Errorf("%s: no layers, want at least an input layer and a loss layer", FileName)
	}
	return f, err
}

// Parse is ParseJSON of a file of the name that may have other keys and no layers: a part of the grammar.
func Parse(name string, src []byte) (*File, error) {
	if len(src) > FileLimit {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", name, len(src), FileLimit)
	}
	f := &File{Lines: map[string]int{}}
	if err := json.Unmarshal(src, f); err != nil {
		return nil, explained(name, src, err)
	}
	s := scanner{src: src, dec: json.NewDecoder(bytes.NewReader(src)), line: 1, file: f}
	if err := s.value(reflect.TypeFor[File]()); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return f, nil
}

// settingError is a value that is none of those that its key may have.
type settingError struct {
	src  []byte
	text string
}

// Error implements error.
func (e *settingError) Error() string { return clip(e.src) + ": " + e.text }

// explained is the error of the decoder with the line that it is about.
func explained(name string, src []byte, err error) error {
	syntax, kind, setting := (*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil), (*settingError)(nil)
	at := 0
	switch {
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind):
		at = int(kind.Offset)
		path := kind.Field
		if path == "" {
			path = "the file"
		}
		article := "a"
		if strings.ContainsAny(kind.Value[:1], "ao") { // array, object
			article = "an"
		}
		err = fmt.Errorf("%s is %s %s, want %s", path, article, kind.Value, typeName(kind.Type))
	case errors.As(err, &setting):
		at = max(0, bytes.Index(src, setting.src))
	default:
		return fmt.Errorf("%s: %w", name, err)
	}
	at = min(max(at, 0), len(src))
	return fmt.Errorf("%s:%d: %w", name, 1+bytes.Count(src[:at], []byte("\n")), err)
}

// typeName is what users call the values of a type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "text"
}

// Key is a key of a file.
type Key struct {
	Path  string          // such as layers[2].outputdim
	Line  int             // from 1 on
	Value json.RawMessage // as it stands in the file
	Known []string        // the keys of the grammar at that place; nil: there are none

	fits []string // those of Known that may have the value
}

// Limits of what a scanner takes: the grammar nests 5 deep.
const (
	depthLimit   = 32
	unknownLimit = 10000
)

// scanner goes through a file key by key, for what the decoder does not tell: keys that occur twice, keys that are not in the
// grammar, and where they are.
type scanner struct {
	src   []byte
	dec   *json.Decoder
	file  *File
	stack []string // the keys (.name) and indices ([i]) that the scanner is at
	at    int      // the byte up to which lines are counted
	line  int
}

// here is the line of the byte, which is at or after those asked for before.
func (s *scanner) here(at int64) int {
	s.line += bytes.Count(s.src[s.at:at], []byte("\n"))
	s.at = int(at)
	return s.line
}

// path is where the scanner is.
func (s *scanner) path() string { return strings.TrimPrefix(strings.Join(s.stack, ""), ".") }

// value scans a value of the type; nil is a type without keys of the grammar.
func (s *scanner) value(t reflect.Type) error {
	token, err := s.dec.Token()
	if err != nil {
		return err
	}
	if len(s.stack) > depthLimit {
		return fmt.Errorf("%d: nested deeper than %d", s.here(s.dec.InputOffset()), depthLimit)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		return s.object(t)
	case json.Delim('['):
		if t != nil && t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for i := 0; s.dec.More(); i++ {
			s.stack = append(s.stack, fmt.Sprintf("[%d]", i))
			if err := s.value(t); err != nil {
				return err
			}
			s.stack = s.stack[:len(s.stack)-1]
		}
		_, err = s.dec.Token()
	}
	return err
}

// object scans the keys of an object whose brace was read.
func (s *scanner) object(t reflect.Type) error {
	seen, known, names := map[string]bool{}, map[string]reflect.StructField{}, []string(nil)
	if t != nil && t.Kind() == reflect.Struct && t != reflect.TypeFor[Choice]() && t != reflect.TypeFor[Fields]() {
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
				known[strings.ToLower(name)] = t.Field(i)
				names = append(names, name)
			}
		}
	}
	for s.dec.More() {
		token, err := s.dec.Token()
		if err != nil {
			return err
		}
		key, from := fmt.Sprint(token), s.dec.InputOffset()
		line := s.here(from)
		s.stack = append(s.stack, "."+clip([]byte(key)))
		low := folded(key)
		if seen[low] {
			return fmt.Errorf("%d: %s twice, want it once", line, s.path())
		}
		seen[low] = true
		field, ok := known[low]
		k := Key{Path: s.path(), Line: line, Known: names}
		if ok {
			s.file.Lines[strings.ToLower(k.Path)] = line
		}
		if err := s.value(field.Type); err != nil {
			return err
		}
		s.stack = s.stack[:len(s.stack)-1]
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case ok && name != key:
			s.file.Respelt = append(s.file.Respelt, k)
		case !ok && names != nil:
			k.Value = bytes.TrimLeft(s.src[from:s.dec.InputOffset()], ": \t\r\n")
			k.fits = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return json.Unmarshal(k.Value, reflect.New(known[strings.ToLower(name)].Type).Interface()) != nil
			})
			s.file.Unknown = append(s.file.Unknown, k)
		}
		if len(s.file.Unknown) > unknownLimit {
			return fmt.Errorf("%d: more than %d unknown keys, want those of docs/graph.md", line, unknownLimit)
		}
	}
	_, err := s.dec.Token()
	return err
}

// folded is the key in small letters, as the decoder compares keys: two letters beyond ASCII count as k and s.
func folded(key string) string {
	return strings.NewReplacer("\u017f", "s", "\u212a", "k").Replace(strings.ToLower(key))
}
