package angel

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// tree is what lies at a path, sorted into matrix folders and other files.
type tree struct {
	path   string
	dirs   []dir
	files  []blob.Info // right below the path and of no matrix
	others []string    // deeper files of no matrix
	bare   []dir       // folders of data files beside others that have metadata
	single *dir        // the path itself, if it is a file
}

// dir is the folder of a matrix.
type dir struct {
	name  string // below the path; "" if the path is the folder
	path  string
	meta  string   // name of the metadata file: _meta, meta or psmeta; "" without
	metas []string // those of all servers, if there are several
	sizes map[string]int64
}

// metaNames are the names that a metadata file can have; the first found counts.
var metaNames = []string{"_meta", "meta", "psmeta"}

// list sorts the files at the path. Side files of file systems and unfinished saves are left out. Where no folder has
// metadata, those that hold nothing but files named by numbers count as matrices.
func list(ctx context.Context, b blob.Bucket, root string) (*tree, error) {
	infos, err := b.List(ctx, root)
	if err != nil {
		return nil, err
	}
	t := &tree{path: root}
	folders := map[string]*dir{}
	for _, i := range infos {
		if i.Name == root {
			t.single = &dir{path: blob.Parent(root), sizes: map[string]int64{blob.Base(root): i.Size}}
			continue
		}
		rel, _ := blob.Rel(root, i.Name)
		if hidden(rel) {
			continue
		}
		folder, file := blob.Split(rel)
		d := folders[folder]
		if d == nil {
			d = &dir{name: strings.TrimSuffix(folder, "/"), path: blob.Join(root, folder), sizes: map[string]int64{}}
			folders[folder] = d
		}
		d.sizes[file] = i.Size
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		d := folders[folder]
		for _, n := range slices.Backward(metaNames) {
			if _, ok := d.sizes[n]; ok {
				d.meta = n
			}
		}
		t.sort(d)
	}
	if len(t.dirs) == 0 {
		t.dirs, t.bare = t.bare, nil
	}
	if len(t.bare) > 0 && t.bare[0].name == "" { // right below the path there are files beside the matrices, whatever their names
		t.rest(&t.bare[0])
		t.bare = t.bare[1:]
	}
	t.join()
	return t, nil
}

// sort puts a folder where it belongs.
func (t *tree) sort(d *dir) {
	switch {
	case d.meta != "":
		t.dirs = append(t.dirs, *d)
	case d.numbers():
		t.bare = append(t.bare, *d)
	default:
		t.rest(d)
	}
}

// models are the folders below the path that hold matrices, if there are several: each of them is a model. The folders that parameter
// servers left are not, since they hold the parts of one.
func (t *tree) models() (paths []string) {
	for i := range t.dirs {
		d := &t.dirs[i]
		if above := blob.Parent(d.path); len(d.metas) == 0 && strings.Contains(d.name, "/") && !slices.Contains(paths, above) {
			paths = append(paths, above)
		}
	}
	return paths
}

// foreign are the names below the path that belong to no matrix and are not small files next to the matrices. If the only matrices are in a
// folder of the path, that folder is the model, and the path holds it.
func (t *tree) foreign() (names []string) {
	names = append(slices.Clone(t.others), t.orphans()...)
	for _, i := range t.files {
		if base := blob.Base(i.Name); format.TooLong(base, i.Size) != "" {
			names = append(names, base)
		}
	}
	if models := t.models(); len(models) == 1 && models[0] != t.path && !slices.ContainsFunc(t.dirs, func(d dir) bool {
		return !strings.Contains(d.name, "/")
	}) {
		names = append(names, models...)
	}
	return names
}

// orphans are the folders of data files that are not read since others have metadata and they have none.
func (t *tree) orphans() (names []string) {
	for _, d := range t.bare {
		for _, size := range d.sizes {
			if size > 0 {
				names = append(names, d.name)
				break
			}
		}
	}
	return names
}

// rest is a folder of no matrix.
func (t *tree) rest(d *dir) {
	if d.name != "" {
		for _, f := range slices.Sorted(maps.Keys(d.sizes)) {
			t.others = append(t.others, blob.Join(d.name, f))
		}
		return
	}
	for _, f := range slices.Sorted(maps.Keys(d.sizes)) {
		t.files = append(t.files, blob.Info{Name: blob.Join(d.path, f), Size: d.sizes[f]})
	}
}

// numbers reports whether all files have the names of data files.
func (d *dir) numbers() bool {
	for n := range d.sizes {
		if !isNumber(n) {
			return false
		}
	}
	return len(d.sizes) > 0
}

// isNumber reports whether a file is named as data files are.
func isNumber(file string) bool {
	v, w := parseInt32([]byte(file))
	return w == len(file) && v >= 0
}

// join makes one matrix of the folders that the parameter servers of a job left of it:
// ParameterServer_<i>/<matrix>/<checkpoint>/psmeta.
func (t *tree) join() {
	of := map[string]int{}
	var joined []dir
	for _, d := range t.dirs {
		server, rest, deep := strings.Cut(d.name, "/")
		if d.meta != "psmeta" || !deep || !strings.HasPrefix(server, "ParameterServer_") {
			joined = append(joined, d)
			continue
		}
		k, known := of[rest]
		if !known {
			k, of[rest] = len(joined), len(joined)
			joined = append(joined, dir{name: rest, path: t.path, sizes: map[string]int64{}})
		}
		j := &joined[k]
		j.metas = append(j.metas, blob.Join(d.name, d.meta))
		j.meta = j.metas[0]
		for f, size := range d.sizes {
			j.sizes[blob.Join(d.name, f)] = size
		}
	}
	for rest, k := range of {
		if name, last := blob.Split(rest); name != "" && allDigits(last) && len(of) == 1 {
			joined[k].name = strings.TrimSuffix(name, "/") // without the number of the checkpoint
		}
	}
	t.dirs = joined
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// hidden reports whether a name is of no interest: side files (.0.crc), files and folders that are being written.
func hidden(rel string) bool {
	for _, e := range strings.Split(rel, "/") {
		if strings.HasPrefix(e, ".") || strings.HasPrefix(e, "_tmp.") || strings.HasPrefix(e, "_final.") {
			return true
		}
	}
	return false
}

// sniff says what the first metadata file shows. Data without metadata are only recognized as text, since anything could
// be binary numbers.
func (c codec) sniff(ctx context.Context, b blob.Bucket, t *tree) (string, error) {
	if len(t.dirs) == 0 {
		return "", nil
	}
	if models := t.models(); len(models) > 1 {
		return "", format.Several(models)
	}
	d := &t.dirs[0]
	if d.meta == "" {
		if !c.looksLikeText(ctx, b, d) {
			return "", nil
		}
		return "Angel data without metadata", nil
	}
	version := map[string]string{"_meta": "Angel 3.2 or later", "meta": "Angel 2.0 to 3.1"}[d.meta]
	o, err := b.Open(ctx, blob.Join(d.path, d.meta))
	if err != nil {
		return "", err
	}
	defer o.Close()
	head := make([]byte, min(o.Size(), 4096))
	if err := wire.ReadAt(o, head, 0); err != nil {
		return "", err
	}
	switch {
	case blob.Base(d.meta) == "psmeta" && d.numbered():
		version = "snapshot of parameter servers"
	case (bytes.IndexByte(head, '{') == 0 || len(head) > 4 && head[4] == '{') && bytes.Contains(head, []byte(`"formatClassName"`)):
	case d.meta == "meta" && d.legacy():
		version = "Angel 1.x"
	default:
		return "", nil
	}
	return version, nil
}

// legacy reports whether the data files have the names of Angel 1.x.
func (d *dir) legacy() bool {
	for n := range d.sizes {
		if strings.HasPrefix(n, "ParameterServer_") {
			return true
		}
	}
	return false
}

// numbered reports whether there is a data file named by a partition.
func (d *dir) numbered() bool {
	for n := range d.sizes {
		n = blob.Base(n)
		if _, w := parseInt32([]byte(n)); w == len(n) {
			return true
		}
	}
	return false
}

// extras reads the files right below the path that are no longer than such files may be.
func (t *tree) extras(ctx context.Context, b blob.Bucket) (files map[string][]byte, notes []string, err error) {
	for _, i := range t.files {
		base := blob.Base(i.Name)
		if why := format.TooLong(base, i.Size); why != "" {
			notes = append(notes, format.Warning(fmt.Sprintf("file %s left out: %s", base, why)))
			continue
		}
		data, err := blob.ReadAll(ctx, b, i.Name, format.FileLimit(base))
		if err != nil {
			return nil, nil, err
		}
		if files == nil {
			files = map[string][]byte{}
		}
		files[base] = data
	}
	if len(t.others) > 0 {
		notes = append(notes, format.Warning(fmt.Sprintf("%d files in folders without metadata", len(t.others))))
	}
	return files, notes, nil
}
