package format

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"thole.example/matrix"
)

// Aspect is a part of what a source says of its matrices. What a target says otherwise must have passed the gate:
// Options.Lose or Options.Drop.
type Aspect uint16

const (
	Names     Aspect = 1 << iota // of matrices, and their order
	Shapes                       // Rows, Cols, Dims
	Types                        // DType, ColTypes
	Meanings                     // Origin, ColOrigins
	Labels                       // of columns
	Places                       // ColLo: which column is the first
	Absence                      // which cells are absent: Layout, Saved
	Sequences                    // LoD
	Files                        // beside the matrices, the network among them
	Matrices                     // which there are
)

// gate is what a save may lose and what it stores: everything that it loses passes here.
type gate struct {
	mu     sync.Mutex        // of filled, once blocks are put
	lost   map[string]Aspect // by matrix; "" has what is lost of all of them
	filled int64             // bytes of absent cells that are stored
	whole  map[string]int64  // matrices whose every cell is stored though blocks may lack some, and the bytes of a cell
	room   int64             // that the file system has, in bytes; below 0: not known
	beside map[string][]byte // files that are written beside the file
}

func newGate() *gate {
	return &gate{lost: map[string]Aspect{}, whole: map[string]int64{}, room: -1, beside: map[string][]byte{}}
}

// open gives the gate of the save; a codec that is used without Create has one of its own.
func (o *Options) open() *gate {
	if o.gate == nil {
		o.gate = newGate()
	}
	return o.gate
}

// passed reports whether the loss was accepted.
func (g *gate) passed(of Aspect, matrix string) bool { return (g.lost[matrix]|g.lost[""])&of != 0 }

// Lose asks whether aspects of the matrix ("": of all matrices, or beside them) may be lost: nil if the user allowed it, else an
// error that wraps ErrLossy. The text says what is lost.
func (o *Options) Lose(of Aspect, matrix string, text string, args ...any) error {
	what := about(matrix, text, args)
	if !o.Lossy {
		return fmt.Errorf("%s: %w (--lossy accepts it)", what, ErrLossy)
	}
	o.lose(of, matrix, what)
	return nil
}

// Drop says that aspects of the matrix are left out because an option of the target asks for it, or because they say nothing: it
// needs no permission.
func (o *Options) Drop(of Aspect, matrix string, text string, args ...any) {
	o.lose(of, matrix, about(matrix, text, args))
}

func (o *Options) lose(of Aspect, matrix, what string) {
	o.open().lost[matrix] |= of
	if o.Lost != nil {
		o.Lost(what)
	}
}

// Tell lets the user know of the save what is no loss.
func (o *Options) Tell(text string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(text, args...))
	}
}

func about(matrix, text string, args []any) string {
	text = fmt.Sprintf(text, args...)
	if matrix == "" {
		return text
	}
	return fmt.Sprintf("matrix %q: %s", matrix, text)
}

// companions are the files that go with a file of a format that has no place for them: FILE.NAME lies beside FILE.
var companions = []string{"columns.json", "graph.json", "job.yaml", "trees.json"}

// LoseFiles is for formats that are one file without a place for others. The files that say what the matrices are will lie
// beside it; the others are lost.
func LoseFiles(o *Options) error {
	for _, name := range slices.Sorted(maps.Keys(o.Files)) {
		if o.Accompany(name) {
			continue
		}
		if err := o.Lose(Files, "", "file %s", name); err != nil {
			return err
		}
	}
	return nil
}

// loseOrigins asks for the loss of element types, and of what columns stand for, that only the source can say.
func loseOrigins(ms []matrix.Meta, i Info, o *Options) error {
	for _, m := range ms {
		if m.Origin != "" && !i.holds(m.Origin) {
			if err := o.Lose(Meanings, m.Name, "element type %s, stored as %v", m.Origin, m.DType); err != nil {
				return err
			}
		}
		var lost []string
		for c, origin := range m.ColOrigins {
			if origin != "" && !i.holds(origin) {
				lost = append(lost, fmt.Sprintf("%s is %s", m.Label(m.ColLo+int64(c)), origin))
			}
		}
		if n := len(lost); n > 3 {
			lost = append(lost[:3], fmt.Sprintf("and %d columns more", n-3))
		}
		if lost == nil {
			continue
		}
		if err := o.Lose(Meanings, m.Name, "what numbers stand for: %s", strings.Join(lost, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the format can say that values are of the foreign type. Settings of a type stand in brackets.
func (i Info) holds(origin string) bool {
	kind, _, _ := strings.Cut(origin, "[")
	return slices.Contains(i.Origins, kind)
}
