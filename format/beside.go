package format

import (
	"fmt"
	"maps"
	"slices"

	"thole.example/blob"
)

// Limits of the files next to the matrices, in bytes. CompanionLimit is the limit of files that a training writes: columns.json lists
// every category, trees.json every tree. Other files are whatever lies in a folder.
const (
	CompanionLimit = 1<<31 - 1
	otherLimit     = 16 << 20
)

// FileLimit is how many bytes a file of that name may have next to the matrices: what a reader reads and Create writes.
func FileLimit(name string) int64 {
	if slices.Contains(companions, name) || name == "__model__" || blob.Ext(name) == ".pdmodel" { // the latter are Paddle's topologies
		return CompanionLimit
	}
	return otherLimit
}

// TooLong describes a file that is longer than FileLimit says; "" if it is not.
func TooLong(name string, size int64) string {
	if limit := FileLimit(name); size > limit {
		return fmt.Sprintf("%d bytes, want at most %d next to the matrices", size, limit)
	}
	return ""
}

// loseLong asks for the loss of files that no reader would read again.
func (o *Options) loseLong() error {
	for _, name := range slices.Sorted(maps.Keys(o.Files)) {
		why := TooLong(name, int64(len(o.Files[name])))
		if why == "" {
			continue
		}
		if err := o.Lose(Files, "", "file %s: %s", name, why); err != nil {
			return err
		}
		o.Files = maps.Clone(o.Files)
		delete(o.Files, name)
	}
	return nil
}

// Accompany writes a companion next to the file, as FILE.NAME, where the format has no place for it, or not enough. It
// reports false for other names.
func (o *Options) Accompany(name string) bool {
	if !slices.Contains(companions, name) {
		return false
	}
	o.open().beside[name] = o.Files[name]
	return true
}

// needFiles says how many bytes the files next to the matrices take, as Need does for a matrix.
func (o *Options) needFiles() error {
	g, size := o.open(), int64(0)
	for _, data := range o.Files {
		size += int64(len(data))
	}
	if g.room < 0 {
		return nil
	}
	if size > g.room {
		return fmt.Errorf("files next to the matrices take %s, and %s are free there: %w", Bytes(size), Bytes(g.room), ErrLimit)
	}
	g.room -= size
	return nil
}
