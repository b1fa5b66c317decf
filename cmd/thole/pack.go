package main

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/paddle"
	"thole.example/pack"
	"thole.example/program"
)

// packing is the flags of pack.
type packing struct {
	file, force bool
	metadata    map[string]string
}

func packCommand(e *env) *cobra.Command {
	var p packing
	c := &cobra.Command{
		Use:   "pack MODEL TARGET",
		Short: "Put a Paddle model into one folder or file with a manifest",
		Long: `Writes the topology and the parameters of MODEL to TARGET, with manifest.json: inputs, outputs and parameters with their
types and shapes, versions, metadata, and the size and SHA-256 of every file. A TARGET that ends with .zip (or --file)
becomes one file, an archive without compression whose members lie at multiples of 64 bytes; any other a folder. Where
MODEL is a folder, its other files are packed too. Parameters that do not fit the topology are refused. verify checks
the manifest; inspect, cat, convert, run and explain read a packed model as they read MODEL.`,
		Example: `  thole pack lr-paddle lr.zip --metadata author=me
  thole verify lr.zip
  thole unpack lr.zip lr-unpacked`,
		RunE: func(c *cobra.Command, args []string) error { return p.run(c.Context(), e, args[0], args[1]) },
	}
	c.Flags().BoolVar(&p.file, "file", false, "write one file, whatever TARGET is called")
	c.Flags().BoolVar(&p.force, "force", false, "replace TARGET if it exists")
	pairsVar(c.Flags(), &p.metadata, "metadata", "what else to say of the model, NAME=TEXT")
	return c
}

func (p *packing) run(ctx context.Context, e *env, src, dst string) error {
	if !p.file {
		if err := wantEnding(dst, ", or no ending for a folder, or --file", ".zip"); err != nil {
			return err
		}
	}
	to, err := e.sink(dst, p.force)
	if err != nil {
		return err
	}
	if err := to.apart(src); err != nil {
		return err
	}
	oneFile := p.file || to.streams() || strings.EqualFold(blob.Ext(dst), ".zip")
	if !oneFile {
		if err := to.folder(ctx); err != nil {
			return err
		}
	}
	b, m, err := e.needTopology(ctx, src)
	if err != nil {
		return err
	}
	r, err := paddle.OpenParams(ctx, b, m) // all there, and as the topology says
	if err != nil {
		return err
	}
	r.Close()
	from, err := e.packSources(ctx, b, m, src)
	if err != nil {
		return err
	}
	into, name, err := to.place()
	if err != nil {
		return err
	}
	manifest := paddle.Describe(m)
	if manifest.Metadata, err = p.said(ctx, b, blob.Parent(m.Path)); err != nil {
		return err
	}
	packed, err := pack.Write(ctx, b, from, manifest, into, name, to.over, oneFile)
	if err == nil {
		err = to.deliver(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(to.reports(), "%s: %s\n", to.path, packedText(packed))
	if leaks, _, err := m.Program.Leaks(); err == nil && len(leaks) > 0 {
		fmt.Fprintf(e.err, "note: %s tells of its training (%s); thole scrub makes a copy that does not\n", src, leaks[0].Attr)
	}
	return nil
}

// said is the metadata of a model that was packed already, and what is said now.
func (p *packing) said(ctx context.Context, b blob.Bucket, dir string) (map[string]string, error) {
	before, err := pack.Read(ctx, b, dir)
	if before == nil || err != nil {
		return p.metadata, err
	}
	all := maps.Clone(before.Metadata)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, p.metadata)
	return all, nil
}

// packSources are the files of a model: topology and parameters, and where the path is a folder all in it.
func (e *env) packSources(ctx context.Context, b blob.Bucket, m *program.Model, src string) (from []pack.Source, err error) {
	dir := blob.Parent(m.Path)
	add := func(object string) {
		rel, _ := blob.Rel(dir, object)
		from = append(from, pack.Source{Name: rel, Object: object})
	}
	_, name, err := e.input(ctx, src)
	if err != nil {
		return nil, err
	}
	if name != dir {
		add(m.Path)
		if m.Params != "" {
			add(m.Params)
		}
		for _, v := range m.Program.Params() {
			if file, ok := m.Of[v.Name]; ok {
				add(file)
			}
		}
		return from, nil
	}
	before, err := pack.Read(ctx, b, dir)
	if err != nil {
		return nil, err
	}
	infos, err := b.List(ctx, dir)
	for _, i := range infos {
		if before == nil || i.Name != blob.Join(dir, pack.Name) { // which is written anew
			add(i.Name)
		}
	}
	return from, err
}

// packedText says what a manifest describes.
func packedText(m *pack.Manifest) string {
	size := int64(0)
	for _, f := range m.Files {
		size += f.Size
	}
	return fmt.Sprintf("%d files of %d bytes, %d inputs, %d outputs, %d parameters",
		len(m.Files), size, len(m.Feeds), len(m.Fetches), len(m.Parameters))
}

func unpackCommand(e *env) *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "unpack PACK DIR",
		Short: "Write a packed model as a folder, after its digests were checked",
		Long: `Compares every file of PACK, a file or a folder that thole pack made, with the manifest, and writes them to the folder
DIR with the manifest. DIR appears whole or not at all.`,
		Example: "  thole unpack lr.zip lr-unpacked",
		RunE: func(c *cobra.Command, args []string) error {
			if err := wantEnding(args[1], ""); err != nil {
				return err
			}
			to, err := e.folder(c.Context(), args[1], force)
			if err != nil {
				return err
			}
			if err := to.apart(args[0]); err != nil {
				return err
			}
			return unpack(c.Context(), e, args[0], to)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace DIR if it exists")
	return c
}

func unpack(ctx context.Context, e *env, src string, to *sink) error {
	b, name, err := e.input(ctx, src)
	if err != nil {
		return err
	}
	var v *blob.View // in which the packed model does not change
	err = blob.Again(ctx, func() (err error) {
		if v, err = format.Pin(ctx, b, name); err != nil {
			return err
		}
		infos, err := v.List(ctx, name)
		if err == nil && len(infos) == 0 {
			err = fmt.Errorf("%s: no such file or folder", src)
		}
		var in blob.Bucket
		if err == nil {
			in, err = pack.Inside(ctx, v, name)
		}
		if err != nil {
			v.Close()
			return err
		}
		b = in
		return nil
	})
	if err != nil {
		return err
	}
	defer v.Close()
	into, dir, err := to.place()
	if err != nil {
		return err
	}
	m, err := pack.Unpack(ctx, b, name, into, dir, to.over)
	if err != nil {
		return format.Wrap("pack", name, err)
	}
	_, err = fmt.Fprintf(e.out, "%s: %s\n", to.path, packedText(m))
	return err
}
