// Package pack keeps the files of a model together, in one folder or one file, with a manifest that says what they are.
//
// A packed folder is the model's files and manifest.json beside them. A packed file is a zip archive of the same files
// that any zip tool unpacks:
//
//	manifest.json, then the files in the order of the manifest, each:
//	     30   local header: stored, not compressed; with the CRC32
//	     …    name, and an extra field so that the file begins at a multiple of 64 bytes; 64-bit sizes where they are needed
//	     …    the file
//	the directory of the archive, and its end
//
// Because the manifest names all files with their sizes, it decides every byte but those of the files and their CRC32: a
// reader lays the archive out again and compares. There is no place for anything that nobody looks at. An archive of the same
// files by another program, of which neither the headers nor the directory are so, is read by its directory.
//
//	limits    manifest of 16 MiB, 65536 files, names of 1024 bytes
//	refused   names that leave the folder or hide in it, names twice, a file and a folder of one name, sizes beyond 2^63
package pack

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// Name is the file of the manifest.
const Name = "manifest.json"

const (
	codec       = "pack" // in errors
	version     = 1
	maxManifest = 16 << 20 // bytes
	maxFiles    = 1 << 16
	maxName     = 1024 // bytes
)

// Manifest describes a packed model.
type Manifest struct {
	// Pack is the version of the manifest, 1.
	Pack int `json:"pack"`
	// Topology is the file of the topology, with its form and the version that it states.
	Topology *Topology `json:"topology,omitempty"`
	// Feeds and Fetches are the inputs and outputs of the model, Parameters what it was trained to.
	Feeds      []Tensor `json:"feeds,omitempty"`
	Fetches    []Tensor `json:"fetches,omitempty"`
	Parameters []Tensor `json:"parameters,omitempty"`
	// Metadata is whatever the one who packed wanted to say.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Files are all files of the model but the manifest, by name.
	Files []File `json:"files"`
}

// Topology is what a manifest says of the network.
type Topology struct {
	File    string `json:"file"`
	Form    string `json:"form"`
	Version string `json:"version"`
}

// Tensor is an input, an output or a parameter. A dimension of -1 is not fixed.
type Tensor struct {
	Name  string  `json:"name"`
	Type  string  `json:"type,omitempty"`
	Shape []int64 `json:"shape"`
}

// File is a file of the model: its name with slashes, its size in bytes, the SHA-256 of its bytes in hex.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Read gives the manifest of a packed folder, or of a packed file that Inside shows as one. Where there is none, or a file
// of the same name that is JSON of another kind, it is nil without an error.
func Read(ctx context.Context, b blob.Bucket, dir string) (*Manifest, error) {
	file := blob.Join(dir, Name)
	infos, err := b.List(ctx, file)
	if err != nil || len(infos) != 1 || infos[0].Name != file || infos[0].Size > maxManifest {
		return nil, err
	}
	data, err := blob.ReadAll(ctx, b, file, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !ours(data) {
		return nil, nil
	}
	m, err := parse(data)
	return m, format.Wrap(codec, file, err)
}

// ours reports whether a file of that name is a manifest of ours, perhaps a damaged one, and not JSON of another kind.
func ours(data []byte) bool {
	var own map[string]json.RawMessage
	if err := json.Unmarshal(data, &own); err != nil {
		kind := new(json.UnmarshalTypeError)
		return !errors.As(err, &kind)
	}
	return own["pack"] != nil || own["files"] != nil
}

// parse reads a manifest and checks it.
func parse(data []byte) (*Manifest, error) {
	var m Manifest
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&m); err != nil {
		return nil, fmt.Errorf("manifest: %w: %w", err, format.ErrCorrupt)
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, fmt.Errorf("manifest: more behind its end: %w", format.ErrCorrupt)
	}
	if m.Pack != version {
		return nil, fmt.Errorf("manifest of version %d, want %d: %w", m.Pack, version, format.ErrVersion)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("manifest: %w: %w", err, format.ErrCorrupt)
	}
	return &m, nil
}

// check reports the first file that cannot be one of a model.
func (m *Manifest) check() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("%d files, want at most %d", len(m.Files), maxFiles)
	}
	var names tree
	total := int64(0)
	for i, f := range m.Files {
		if err := names.add(f.Name); err != nil {
			return err
		}
		if i > 0 && f.Name < m.Files[i-1].Name {
			return fmt.Errorf("file %q after %q, want them sorted", f.Name, m.Files[i-1].Name)
		}
		if f.Size < 0 || f.Size > math.MaxInt64-total-1<<32 {
			return fmt.Errorf("file %q of %d bytes, want fewer than 2^63 in all", f.Name, f.Size)
		}
		total += f.Size
		if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 {
			return fmt.Errorf("file %q: SHA-256 %q, want 64 hex digits", f.Name, f.SHA256)
		}
	}
	return nil
}

// tree is a set of names of files, and the folders that they are in.
type tree struct{ files, folders map[string]bool }

// add takes a name up, if it is one that stays within a folder and that no other is in the way of.
func (t *tree) add(name string) error {
	if t.files == nil {
		t.files, t.folders = map[string]bool{}, map[string]bool{}
	}
	plain := fs.ValidPath(name) && name != "." && name != Name && len(name) <= maxName && !strings.ContainsAny(name, "\\\x00")
	for part := range strings.SplitSeq(name, "/") {
		plain = plain && !strings.HasPrefix(part, ".") && !strings.HasPrefix(part, "_tmp.")
	}
	if !plain {
		return fmt.Errorf("name %.80q, want one of a file within the folder", name)
	}
	taken := t.files[name] || t.folders[name]
	for i := range name {
		if name[i] == '/' {
			taken = taken || t.files[name[:i]]
			t.folders[name[:i]] = true
		}
	}
	if taken {
		return fmt.Errorf("name %q twice, or of a file and a folder", name)
	}
	t.files[name] = true
	return nil
}

// encode is the manifest as it stands in its file.
func (m *Manifest) encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}
