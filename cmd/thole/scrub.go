package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/interp"
	"thole.example/pack"
	"thole.example/program"
)

// rounds is how many made-up inputs both programs are run on.
const rounds = 4

func scrubCommand(e *env) *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "scrub SRC DST",
		Short: "Remove what a Paddle model tells of its training",
		Long: `Writes the topology of SRC to DST without what only training needs and what tells of it:
` + leakTable() + `
A folder, or a model packed in one file, is copied to a folder with its other files. Variables, operators and all other
attributes are compared before anything is written, and where the parameters are there and the operators known, both
programs are run on the same inputs and must give the same bits. Names of variables stay, since parameters and callers go
by them; what they begin with is listed.`,
		Example: "  thole scrub lr-paddle clean\n  thole scrub lr-paddle/model.pdmodel clean.pdmodel",
		RunE: func(c *cobra.Command, args []string) error {
			to, err := e.sink(args[1], force)
			if err != nil {
				return err
			}
			return scrub(c.Context(), e, args[0], to)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace DST if it exists")
	return c
}

func scrub(ctx context.Context, e *env, src string, to *sink) error {
	if err := to.apart(src); err != nil {
		return err
	}
	b, m, err := e.needTopology(ctx, src)
	if err != nil {
		return err
	}
	folder, err := e.isFolder(ctx, b, src)
	if err != nil {
		return err
	}
	if err := wantEnding(to.path, "", topologyEndings(m, folder)...); err != nil {
		return err
	}
	clean, err := m.Program.Scrub()
	if err != nil {
		return err
	}
	if err := program.SameGraph(m.Program, clean); err != nil {
		return fmt.Errorf("%s: scrubbing would change the program: %w", m.Path, err)
	}
	proof, err := proveSame(ctx, e, b, m, clean)
	if err != nil {
		return fmt.Errorf("%s: scrubbing would change the program: %w", m.Path, err)
	}
	data, err := clean.Encode()
	if err != nil {
		return err
	}
	if err := e.writeScrubbed(ctx, b, m, src, to, data); err != nil {
		return err
	}
	fmt.Fprintf(to.reports(), "%s: %d of %d bytes; graph: the same; %s\n", to.path, len(data), len(m.Data), proof)
	if stems := clean.Stems(); len(stems) > 0 {
		shown := strings.Join(stems[:min(len(stems), maxStems)], ", ")
		if more := len(stems) - maxStems; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(to.reports(), "names of variables stay; they begin with %s\n", shown)
	}
	if !folder {
		return nil
	}
	return noteOthers(ctx, e, b, m)
}

// topologyEndings are the endings that a copy of the topology may have; none of a folder.
func topologyEndings(m *program.Model, folder bool) []string {
	if ending := fileEnding(m.Path); folder {
		return nil
	} else if ending != "" {
		return []string{ending}
	}
	return []string{".pdmodel"} // the old name is __model__
}

// maxStems is how many beginnings of names are listed.
const maxStems = 24

// leakTable lists the attributes that are removed.
func leakTable() string {
	var b strings.Builder
	for _, a := range program.TrainingAttrs() {
		fmt.Fprintf(&b, "  %-16s %s (%s)\n", a.Name, a.Tells, a.Forms)
	}
	return b.String()
}

// proveSame runs both programs if that is possible, and says what was found.
func proveSame(ctx context.Context, e *env, b blob.Bucket, m *program.Model, clean *program.Program) (string, error) {
	const not = "outputs: not compared: "
	if m.Params == "" && m.Of == nil && len(m.Program.Params()) > 0 {
		return not + "no parameters beside the topology", nil
	}
	before, err := e.machineOf(ctx, b, m, m.Program, "")
	if err != nil {
		return not + err.Error(), nil
	}
	after, err := e.machineOf(ctx, b, m, clean, "")
	if err != nil {
		return "", err
	}
	err = interp.Compare(ctx, before, after, rounds)
	if errors.Is(err, interp.ErrRun) {
		return not + err.Error(), nil
	}
	return fmt.Sprintf("outputs: the same bits on %d made-up inputs", rounds), err
}

// maxOther is the size of files beside a topology that are looked at for another one.
const maxOther = 16 << 20

// isFolder reports whether a path is a folder, or a model packed in one file, which is a folder in b.
func (e *env) isFolder(ctx context.Context, b blob.Bucket, path string) (bool, error) {
	_, name, err := e.input(ctx, path)
	if err != nil {
		return false, err
	}
	infos, err := b.List(ctx, name)
	return len(infos) > 0 && infos[0].Name != name, err
}

// infoExt ends the name of a file that Paddle 2.x leaves beside parameters: the names that layers have in the source.
const infoExt = ".pdiparams.info"

// noteOthers names the other files in a copied folder that tell of a training.
func noteOthers(ctx context.Context, e *env, b blob.Bucket, m *program.Model) error {
	infos, err := b.List(ctx, blob.Parent(m.Path))
	if err != nil {
		return err
	}
	for _, i := range infos {
		if strings.HasSuffix(i.Name, infoExt) {
			fmt.Fprintf(e.err, "note: %s was copied as it is; it has the names of layers in the source, and inference runs without it\n",
				blob.Base(i.Name))
		}
		if i.Name == m.Path || i.Size > maxOther {
			continue
		}
		data, err := blob.ReadAll(ctx, b, i.Name, maxOther)
		if err != nil {
			return err
		}
		other, err := program.Decode(data)
		if err != nil {
			continue // no topology
		}
		if leaks, _, err := other.Leaks(); err == nil && len(leaks) > 0 {
			fmt.Fprintf(e.err, "note: %s was copied as it is and tells of its training (%s); scrub it too\n", blob.Base(i.Name), leaks[0].Attr)
		}
	}
	return nil
}

// writeScrubbed writes the topology to a file, or for a folder a copy of it with the topology in its place.
func (e *env) writeScrubbed(ctx context.Context, b blob.Bucket, m *program.Model, src string, sink *sink, data []byte) error {
	to, name, err := sink.place()
	if err != nil {
		return err
	}
	if folder, err := e.isFolder(ctx, b, src); err != nil || !folder {
		if err == nil {
			err = blob.WriteOver(ctx, to, name, data, sink.over)
		}
		if err == nil {
			err = sink.deliver(ctx)
		}
		return err
	}
	if err := sink.folder(ctx); err != nil {
		return err
	}
	dir := blob.Parent(m.Path)
	infos, err := b.List(ctx, dir)
	if err != nil {
		return err
	}
	packed, err := pack.Read(ctx, b, dir)
	if err != nil {
		return err
	}
	stage := format.NewStage(to, name, "")
	stage.Over = sink.over
	defer stage.Abort(context.WithoutCancel(ctx))
	for _, i := range infos {
		if packed != nil && i.Name == dir+"/"+pack.Name {
			continue // of the topology that is replaced
		}
		object := stage.Name(strings.TrimPrefix(i.Name, dir+"/"))
		if i.Name == m.Path {
			err = blob.WriteAll(ctx, to, object, data)
		} else {
			err = copyObject(ctx, b, i, to, object)
		}
		if err != nil {
			return err
		}
	}
	return stage.Publish(ctx, "")
}

// copyObject copies one object to another bucket.
func copyObject(ctx context.Context, from blob.Bucket, i blob.Info, to blob.Bucket, name string) error {
	o, err := from.Open(ctx, i.Name)
	if err != nil {
		return err
	}
	defer o.Close()
	w, err := to.Create(ctx, name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, io.NewSectionReader(o, 0, o.Size())); err != nil {
		return err
	}
	return w.Commit()
}
