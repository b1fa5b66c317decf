package kubernetes

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Volume is files that all pods have at a path.
type Volume struct {
	Name, Kind, Source string
	Path               string // absolute
	ReadOnly           bool
}

// volumeKind is what a volume may be.
type volumeKind struct {
	name, help string
	check      func(source string) error
	spec       func(v *Volume) object
}

// volumeKinds is the table of them.
func volumeKinds() []volumeKind {
	return []volumeKind{
		{"pvc", "a claim", CheckObject, func(v *Volume) object {
			return object{{"persistentVolumeClaim", object{{"claimName", v.Source}, {"readOnly", v.ReadOnly}}}}
		}},
		{"hostPath", "a folder of each node", absolute, func(v *Volume) object {
			return object{{"hostPath", object{{"path", v.Source}}}}
		}},
		{"secret", "a secret", CheckObject, func(v *Volume) object {
			return object{{"secret", object{{"secretName", v.Source}}}}
		}},
		{"configMap", "a ConfigMap", CheckObject, func(v *Volume) object {
			return object{{"configMap", object{{"name", v.Source}}}}
		}},
		{"nfs", "HOST/FOLDER of an NFS server", nfs, func(v *Volume) object {
			host, folder, _ := strings.Cut(v.Source, "/")
			return object{{"nfs", object{{"server", host}, {"path", "/" + folder}, {"readOnly", v.ReadOnly}}}}
		}},
	}
}

// VolumeForm says how a volume is written.
const VolumeForm = "NAME=KIND:SOURCE:PATH, or with :ro behind it"

// VolumeHelp is the kinds of volumes, for people.
func VolumeHelp() string {
	var all []string
	for _, k := range volumeKinds() {
		all = append(all, k.name+" ("+k.help+")")
	}
	return strings.Join(all, ", ")
}

// ParseVolume reads NAME=KIND:SOURCE:PATH, or NAME=KIND:SOURCE:PATH:ro.
func ParseVolume(text string) (Volume, error) {
	name, rest, _ := strings.Cut(text, "=")
	parts := strings.Split(rest, ":")
	if len(parts) == 4 && parts[3] == "ro" {
		parts = parts[:3]
	}
	if len(parts) != 3 || strings.Count(rest, ":") > 3 {
		return Volume{}, fmt.Errorf("%.80q, want %s", text, VolumeForm)
	}
	v := Volume{Name: name, Kind: parts[0], Source: parts[1], Path: path.Clean(parts[2]), ReadOnly: strings.HasSuffix(rest, ":ro")}
	kinds := volumeKinds()
	i := slices.IndexFunc(kinds, func(k volumeKind) bool { return k.name == v.Kind })
	switch {
	case !dns.MatchString(name) || len(name) > nameLimit:
		return Volume{}, fmt.Errorf("%.80q: name %.60q, want a-z, 0-9 and -, at most %d of them", text, name, nameLimit)
	case i < 0:
		return Volume{}, fmt.Errorf("%.80q: kind %.60q, want %s", text, v.Kind, VolumeHelp())
	}
	if err := kinds[i].check(v.Source); err != nil {
		return Volume{}, fmt.Errorf("%.80q: %w", text, err)
	}
	if err := absolute(parts[2]); err != nil {
		return Volume{}, fmt.Errorf("%.80q: %w", text, err)
	}
	return v, nil
}

func absolute(text string) error {
	if !path.IsAbs(text) || text != path.Clean(text) || strings.ContainsAny(text, ":\x00\n") {
		return fmt.Errorf("path %.80q, want an absolute one, without .. and colons", text)
	}
	return nil
}

func nfs(text string) error {
	host, folder, _ := strings.Cut(text, "/")
	if host == "" || strings.ContainsAny(host, " \n\x00") {
		return fmt.Errorf("%.80q, want HOST/FOLDER", text)
	}
	return absolute("/" + folder)
}

// volumes are those of a pod of a component, and where it has them.
func (l *Launch) volumes(component string) (volumes, mounts []object) {
	add := func(name, at string, readOnly bool, spec object) {
		volumes = append(volumes, append(object{{"name", name}}, spec...))
		mounts = append(mounts, object{{"name", name}, {"mountPath", at}, {"readOnly", readOnly}})
	}
	add("thole-scratch", ScratchFolder, false, object{{"emptyDir", object{{"sizeLimit", l.ScratchSize}}.orEmpty()}})
	if component == worker && len(l.Files) > 0 {
		add("thole-files", FilesFolder, true, object{{"configMap", object{{"name", l.Name}}}})
	}
	// A pod sees only the keys of Secrets that it needs.
	keys := map[string][]string{server: {tokensKey}, worker: {secretKey}}[component]
	if name := l.token(); name != "" {
		add("thole-tokens", TokensFolder, true, secretItems(name, keys))
	}
	keys = map[string][]string{server: {certKey, keyKey}, worker: {caKey}}[component]
	if name := l.tls(); name != "" {
		add("thole-tls", TLSFolder, true, secretItems(name, keys))
	}
	for i := range l.Volumes {
		v := &l.Volumes[i]
		for _, k := range volumeKinds() {
			if k.name == v.Kind {
				add(v.Name, v.Path, v.ReadOnly, k.spec(v))
			}
		}
	}
	return volumes, mounts
}

// secretItems are some keys of a Secret, as files of their names.
func secretItems(name string, keys []string) object {
	var items []object
	for _, key := range keys {
		items = append(items, object{{"key", key}, {"path", key}})
	}
	return object{{"secret", object{{"secretName", name}, {"items", items}}}}
}
