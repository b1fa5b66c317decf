package safetensors

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"thole.example/format"
)

// metadataFile is the file that holds the metadata. filePrefix begins the entries that hold other files as they are, and
// bytesPrefix those that hold files that are no text, in base64.
const (
	metadataFile = "metadata.json"
	filePrefix   = "file/"
	bytesPrefix  = "file64/"
	// longFile is from how many bytes on a companion is not in the header, whose length is limited, but next to the file.
	longFile = 16 << 20
)

// metadataOf makes metadata of the files beside the matrices, and asks for the loss of those that cannot be.
func metadataOf(o *format.Options) (map[string]string, error) {
	all := map[string]string{}
	if data, ok := o.Files[metadataFile]; ok {
		p := &parser{src: data}
		all = p.metadata()
		if p.space(); p.err != nil || p.pos < len(data) || !utf8.Valid(data) {
			if err := o.Lose(format.Files, "", "file %s: not an object of texts", metadataFile); err != nil {
				return nil, err
			}
			clear(all)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(o.Files)) {
		data := o.Files[file]
		switch {
		case file == metadataFile:
		case len(data) > longFile && o.Accompany(file):
		case !isFile(file):
			if err := o.Lose(format.Files, "", "file %q: its name cannot be in a folder", file); err != nil {
				return nil, err
			}
		case utf8.Valid(data):
			all[filePrefix+file] = string(data)
		default:
			all[bytesPrefix+file] = base64.StdEncoding.EncodeToString(data)
		}
	}
	return all, nil
}

// isFile reports whether a file of the name can lie in a folder beside the others.
func isFile(name string) bool {
	return format.PlainName(name) && name != metadataFile && utf8.ValidString(name)
}

// fileOf is the file that an entry of the metadata stands for; ok is false if it is about something else.
func fileOf(key, value string) (name string, data []byte, ok bool) {
	if name, ok := strings.CutPrefix(key, filePrefix); ok && isFile(name) {
		return name, []byte(value), true
	}
	if name, ok := strings.CutPrefix(key, bytesPrefix); ok && isFile(name) {
		data, err := base64.StdEncoding.Strict().DecodeString(value)
		return name, data, err == nil && !utf8.Valid(data) // else we would write it otherwise
	}
	return "", nil, false
}

// filesOf is what metadataOf made the metadata of.
func filesOf(metadata map[string]string) map[string][]byte {
	if len(metadata) == 0 {
		return nil
	}
	files, rest := map[string][]byte{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		v := metadata[key]
		if name, data, ok := fileOf(key, v); ok && files[name] == nil {
			files[name] = data
		} else {
			rest[key] = v
		}
	}
	if len(rest) > 0 {
		files[metadataFile] = appendMetadata(nil, rest)
	}
	return files
}
