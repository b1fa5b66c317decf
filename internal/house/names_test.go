package house

import (
	"path"
	"testing"
)

// paths are the packages and files that may import package path or path/filepath, and what they do with it. All others handle names of
// objects, which may be URLs: path.Join and path.Dir make s3:/bucket of s3://bucket. For those there are the functions of package blob
// (Join, Parent, Base, Ext, Stem, Rel, Within, Clean).
var paths = map[string]string{
	"blob":              "what names are is defined here, and files have paths",
	"blob/hdfs":         "names within a cluster, which are no URLs any more",
	"blob/s3":           "keys within a bucket, which are no URLs any more",
	"coord/dir":         "a folder of this machine",
	"coord/node":        "a folder of this machine",
	"journal":           "logs, which are on a disk of this machine",
	"kubeapi":           "the configuration of kubectl and of a pod",
	"launch/kubernetes": "paths within a container",
	"launch/local":      "a folder of this machine",
	"launch/slurm":      "a folder that machines share",
	"runlog":            "a folder of this machine",
	"server/logdir.go":  "logs, which are on a disk of this machine",
	"spill":             "temporary files",
	"data/files.go":     "patterns of files of this machine; those of stores are in objects.go",
	"data/lake.go":      "folders of this machine above a file, and globs in them",

	"internal/mutants":    "the files of this repository",
	"internal/peers":      "the files of this repository",
	"kernel/internal/asm": "the files of this repository",

	"cmd/thole/apart.go":        "whether two files of this machine are one",
	"cmd/thole/claim.go":        "what separates elements on this system becomes a slash",
	"cmd/thole/coordinate.go":   "the program etcd",
	"cmd/thole/demo.go":         "a folder of this machine",
	"cmd/thole/early.go":        "a temporary folder",
	"cmd/thole/folders.go":      "folders of this machine",
	"cmd/thole/launch.go":       "folders of this machine",
	"cmd/thole/launchcrew.go":   "folders of this machine",
	"cmd/thole/launchdetach.go": "folders of this machine",
	"cmd/thole/launched.go":     "folders of this machine",
	"cmd/thole/launchlocal.go":  "folders of this machine",
	"cmd/thole/launchlogs.go":   "folders of this machine",
	"cmd/thole/launchscript.go": "folders of this machine",
	"cmd/thole/launchstatus.go": "folders of this machine",
	"cmd/thole/lock.go":         "a lock of a file of this machine",
	"cmd/thole/memorygroup.go":  "control groups of Linux",
	"cmd/thole/momentfolder.go": "a temporary folder",
	"cmd/thole/predictions.go":  "a temporary folder",
	"cmd/thole/psf.go":          "a module of functions, which is a file of this machine",
	"cmd/thole/server.go":       "a folder of this machine",
	"cmd/thole/sink.go":         "symbolic links",
	"cmd/thole/spool.go":        "a temporary folder",
	"cmd/thole/target.go":       "symbolic links",
	"cmd/thole/together.go":     "second names of files of this machine",

	"cmd/thole/launchslurm.go":       "folders that machines share",
	"cmd/thole/launchslurmfollow.go": "folders that machines share",
	"cmd/thole/launchslurmwords.go":  "folders that machines share",
}

// TestNamesOfObjects: only what handles no names of objects takes them for paths.
func TestNamesOfObjects(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(f *goFile) {
		if f.test() || path.Dir(f.name) == "internal/house" {
			return
		}
		for _, i := range f.tree.Imports {
			if i.Path.Value != `"path"` && i.Path.Value != `"path/filepath"` {
				continue
			}
			switch {
			case paths[f.name] != "":
				used[f.name] = true
			case paths[f.pkg()] != "":
				used[f.pkg()] = true
			default:
				t.Errorf("%s: imports %s, want the functions of package blob for names of objects, or a reason in the table", f.at(i), i.Path.Value)
			}
		}
	})
	for name := range paths {
		if !used[name] {
			t.Errorf("%s imports neither path nor path/filepath, and needs no reason any more", name)
		}
	}
}
