package paddle

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"thole.example/blob"
	"thole.example/pack"
	"thole.example/program"
)

// Describe is what the manifest of a packed model says of its topology: the file, inputs, outputs and parameters.
func Describe(m *program.Model) pack.Manifest {
	p := m.Program
	said := pack.Manifest{Topology: &pack.Topology{File: blob.Base(m.Path), Form: string(p.Form), Version: p.VersionText()}}
	for _, v := range p.Params() {
		said.Parameters = append(said.Parameters, tensorOf(&v))
	}
	vars := map[string]*program.Var{}
	for i := range p.Blocks[0].Vars {
		vars[p.Blocks[0].Vars[i].Name] = &p.Blocks[0].Vars[i]
	}
	all := func(to []pack.Tensor, slots []program.Slot) []pack.Tensor {
		for _, s := range slots {
			for _, arg := range s.Args {
				if v := vars[arg]; v != nil {
					to = append(to, tensorOf(v))
				}
			}
		}
		return to
	}
	for _, o := range p.Blocks[0].Ops {
		switch o.Type {
		case "feed", "pd_op.data", "pd_op.feed":
			said.Feeds = all(said.Feeds, o.Out)
		case "fetch", "pd_op.fetch":
			said.Fetches = all(said.Fetches, o.In)
		}
	}
	return said
}

func tensorOf(v *program.Var) pack.Tensor {
	t := pack.Tensor{Name: v.Name, Shape: v.Dims}
	if v.Typed {
		t.Type = typeText(int64(v.Elem))
	}
	if t.Shape == nil {
		t.Shape = []int64{}
	}
	return t
}

// packed is the manifest of a model's folder and what it has to agree with.
type packed struct {
	manifest *pack.Manifest
	bucket   blob.Bucket
	dir      string
	model    *program.Model
}

// readPacked gives the manifest of a folder; nil if there is none.
func readPacked(ctx context.Context, b blob.Bucket, dir string, m *program.Model) (*packed, error) {
	manifest, err := pack.Read(ctx, b, dir)
	if manifest == nil || err != nil {
		return nil, err
	}
	return &packed{manifest, b, dir, m}, nil
}

// notes say that there is a manifest, and what it says beside.
func (p *packed) notes() []string {
	notes := []string{fmt.Sprintf("packed: a manifest with the SHA-256 of %d files, which verify checks", len(p.manifest.Files))}
	for _, key := range slices.Sorted(maps.Keys(p.manifest.Metadata)) {
		notes = append(notes, fmt.Sprintf("%s: %.200q", key, p.manifest.Metadata[key]))
	}
	return notes
}

// verify holds the files to the manifest, and the manifest to the topology.
func (p *packed) verify(ctx context.Context) ([]string, error) {
	problems, err := p.manifest.Verify(ctx, p.bucket, p.dir)
	if err != nil || p.model == nil {
		return problems, err
	}
	said, is := *p.manifest, Describe(p.model)
	is.Pack, is.Metadata, is.Files = said.Pack, said.Metadata, said.Files
	if !reflect.DeepEqual(said, is) {
		problems = append(problems, "the manifest says other inputs, outputs or parameters than the topology "+p.model.Path)
	}
	return problems, nil
}
