package data

import (
	"fmt"
	"strings"
)

// Source is a text format of examples. The table of sources is what Sources returns.
type Source struct {
	Name string // what Options.Format says
	Help string // one line for people

	base int64 // what the format's indices count from, unless Options.Base says otherwise
	sep  byte  // separator byte beside blanks, 0 for none
	// features parses the features of a line from text[i] on, behind the label, up to the end of the line, whose place it
	// answers. It appends to c.rows but leaves ptr to its caller.
	features func(c *chunk, s *settings, i int) (end int, err error)
}

// Sources lists every source. A new one is a new file and a line here.
func Sources() []Source {
	return []Source{
		libsvm,
		dummy,
		dense,
	}
}

// lookup finds a source; the empty name is libsvm.
func lookup(name string) (Source, error) {
	if name == "" {
		return libsvm, nil
	}
	var names []string
	for _, s := range Sources() {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Source{}, fmt.Errorf("data: %q: %w, want one of %s", name, ErrUnknown, strings.Join(names, " "))
}
