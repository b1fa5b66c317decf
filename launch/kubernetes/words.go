package kubernetes

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"thole.example/blob"
)

// Setting is what a flag of thole is given; several texts are given one after the other.
type Setting struct {
	Flag  string
	Texts []string
}

// Args are the words of a command line that give flags these texts.
func Args(all []Setting) (args []string) {
	for _, s := range all {
		for _, text := range s.Texts {
			args = append(args, "--"+s.Flag+"="+text)
		}
	}
	return args
}

// Settings are what such words say, in their order; texts of one flag that follow each other are one setting.
func Settings(args []string) (all []Setting) {
	for _, word := range args {
		flag, text, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if n := len(all); n > 0 && all[n-1].Flag == flag {
			all[n-1].Texts = append(all[n-1].Texts, text)
		} else {
			all = append(all, Setting{flag, []string{text}})
		}
	}
	return all
}

// How long workers wait, where nobody says something else.
const (
	Wait  = 15 * time.Minute // for pods that the cluster has no room for; a Job waits up to 10 before it makes one again
	Retry = time.Minute      // until a pod that was lost has its successor
)

// Words makes the command lines of the pods: workers are told what is said of the training, and servers, beside what is said of them, their
// stores. What lies in pods is lost with them, so that workers write no logs and records of their own.
func (l *Launch) Words(said, servers []Setting, stores []string) {
	l.said, l.serversSaid = said, servers
	l.WorkerArgs = append(Args(said), "--log=", "--runs=none")
	for _, one := range []Setting{{"wait", []string{Wait.String()}}, {"retry", []string{Retry.String()}}} {
		if !slices.ContainsFunc(said, func(s Setting) bool { return s.Flag == one.Flag }) {
			l.WorkerArgs = append(l.WorkerArgs, Args([]Setting{one})...)
		}
	}
	l.ServerArgs = append(Args([]Setting{{"store", stores}, {"scratch", []string{ScratchFolder}}}), Args(servers)...)
}

// Place is a path or a URL that somebody says, and how that one calls it.
type Place struct {
	Name, Path string // "": nothing is said
	Written    bool   // something is saved there
}

// InPods refuses a place that no pod has.
func (l *Launch) InPods(p Place) error {
	switch {
	case blob.IsURL(p.Path):
		return nil
	case !path.IsAbs(p.Path):
		return fmt.Errorf("%s %s, want an absolute path: it is one of the pods, whose working directory is not yours", p.Name, p.Path)
	case l.VolumeAt(p.Path) == nil:
		return fmt.Errorf("%s %s is in none of the volumes, want --volume %s for it, in a TholeJob one of spec.volumes", p.Name, p.Path,
			VolumeForm)
	}
	return nil
}

// Stores are the servers' stores for what they save and load at these places: the one that is said, or else the volume that has them, and
// the folders of those that are URLs, so that servers touch nothing else of a bucket. The first is where the best epoch lies meanwhile,
// which all servers have. folder is the one below which paths of pods are; "": they need none.
func (l *Launch) Stores(store Place, places []Place) (folder string, all []string, err error) {
	if folder, err = l.folder(store, places); err != nil {
		return "", nil, err
	}
	if first := cmp.Or(folder, store.Path); first != "" {
		all = append(all, first)
	}
	for _, p := range places {
		if !blob.IsURL(p.Path) {
			continue
		}
		if parent := blob.Parent(p.Path); !slices.Contains(all, parent) { // temporary objects are next to what they become
			all = append(all, parent)
		}
	}
	for i := range l.Volumes {
		if v := &l.Volumes[i]; len(all) == 0 && !v.ReadOnly {
			all = append(all, v.Path)
		}
	}
	if len(all) == 0 {
		all = append(all, ScratchFolder) // nothing is saved
	}
	return folder, all, nil
}

// folder is that of the servers' store in the pods; "": there is none.
func (l *Launch) folder(store Place, places []Place) (folder string, err error) {
	if blob.IsURL(store.Path) {
		return "", nil // paths are below it, or URLs
	}
	if folder = store.Path; folder != "" {
		if err := l.InPods(store); err != nil {
			return "", err
		}
	}
	for _, p := range places {
		if p.Path == "" || blob.IsURL(p.Path) {
			continue
		}
		if err := l.InPods(p); err != nil {
			return "", err
		}
		v := l.VolumeAt(p.Path)
		switch {
		case folder == "":
			folder = v.Path
		case !strings.HasPrefix(path.Clean(p.Path), strings.TrimSuffix(path.Clean(folder), "/")+"/"):
			return "", fmt.Errorf("%s %s is not below %s, want all that servers save and load in one folder: see %s", p.Name, p.Path, folder,
				store.Name)
		}
		if v.ReadOnly && p.Written {
			return "", fmt.Errorf("%s %s is in the volume %s, which is read only: want one that can be written", p.Name, p.Path, v.Name)
		}
	}
	return folder, nil
}
