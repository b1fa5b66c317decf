package pack

import (
	"thole.example/format"
	"thole.example/internal/zipfile"
)

// readable is a file that all may read.
const readable = 0o100644

// plan says where the files of a manifest of n bytes lie in the archive.
func plan(m *Manifest, n int64) (all []zipfile.Member, end int64) {
	files := append([]File{{Name: Name, Size: n}}, m.Files...)
	for _, f := range files {
		one := zipfile.Member{Name: f.Name, Size: f.Size, Mode: readable}
		end = one.Place(end)
		all = append(all, one)
	}
	return all, end
}

// frame is all bytes of the archive that are not of a file.
func frame(all []zipfile.Member, end int64) (spans []format.Span) {
	for i := range all {
		spans = append(spans, format.Span{Off: all[i].At, Bytes: all[i].Local()})
	}
	return append(spans, format.Span{Off: end, Bytes: zipfile.Directory(all, end)})
}
