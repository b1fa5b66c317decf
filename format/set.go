package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/matrix"
)

// Set is a table of codecs; the order matters for detection.
type Set []Codec

// Lookup finds the codec of a name.
func (s Set) Lookup(name string) (Codec, error) {
	var names []string
	for _, c := range s {
		if c.Info().Name == name {
			return c, nil
		}
		names = append(names, c.Info().Name)
	}
	return nil, fmt.Errorf("format %q: %w, want one of %s", name, ErrUnknown, strings.Join(names, ", "))
}

// ByExt finds the codec whose files usually have the ending of the path, and the options that the ending stands for.
func (s Set) ByExt(name string) (Codec, map[string]string, error) {
	ext := blob.Ext(strings.TrimSuffix(name, "/"))
	var known []string
	for _, c := range s {
		for _, e := range c.Info().AllEndings() {
			if strings.EqualFold(ext, e.Ext) {
				return c, maps.Clone(e.Set), nil
			}
			known = append(known, e.Ext)
		}
	}
	return nil, nil, fmt.Errorf("format of %s: %w: its ending says nothing, want one of %s, or a format named with --to",
		name, ErrUnknown, strings.Join(known, " "))
}

// AllEndings are all endings of the format's files, the usual one first.
func (i Info) AllEndings() []Ending {
	if i.Ext == "" {
		return i.Endings
	}
	return append([]Ending{{Ext: i.Ext}}, i.Endings...)
}

// Detect finds the codec of a path and the dialect it holds. The error says what was found instead.
func (s Set) Detect(ctx context.Context, b blob.Bucket, name string) (c Codec, dialect string, err error) {
	err = pinned(ctx, b, name, func(v *blob.View) (err error) {
		if c, dialect, err = s.detect(ctx, v, name); err == nil {
			err = v.Close()
		}
		return err
	})
	return c, dialect, err
}

func (s Set) detect(ctx context.Context, b blob.Bucket, name string) (c Codec, dialect string, err error) {
	infos, err := b.List(ctx, name)
	if err != nil {
		return nil, "", err
	}
	if len(infos) == 0 {
		return nil, "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	for _, c := range s {
		dialect, err := Sniff(ctx, c, b, name)
		if Missing(err) { // the codec wants a file and there is a folder
			continue
		}
		if err != nil {
			return nil, "", Wrap(c.Info().Name, name, err)
		}
		if dialect != "" {
			return c, dialect, nil
		}
	}
	if infos[0].Name == name && infos[0].Size == 0 {
		return nil, "", fmt.Errorf("%s: %w: the file is empty", name, ErrUnknown)
	}
	if whole := s.partOf(ctx, b, name, infos); whole != "" {
		return nil, "", fmt.Errorf("%s: %w: %s", name, ErrUnknown, whole)
	}
	if what := foreignAt(ctx, b, name, infos); what != "" {
		return nil, "", fmt.Errorf("%s: %w: %s", name, ErrUnknown, what)
	}
	if near := s.nearest(ctx, b, name, infos[0].Name != name); near != nil {
		return nil, "", unrecognized{fmt.Errorf("%s: %w, the nearest is damaged: %w", name, ErrUnknown, near)}
	}
	return nil, "", unrecognized{fmt.Errorf("%s: %w: %s", name, ErrUnknown, found(ctx, b, name, infos))}
}

// unrecognized marks the error of a path that no codec knows, and that is not known to be anything else either.
type unrecognized struct{ error }

// Unwrap gives the error without the mark.
func (e unrecognized) Unwrap() error { return e.error }

// Unrecognized reports whether an error is that of a path of which nothing is known.
func Unrecognized(err error) bool {
	var mark unrecognized
	return errors.As(err, &mark)
}

// partOf reports whether a file is one of those that a model in a folder consists of; "" if not.
func (s Set) partOf(ctx context.Context, b blob.Bucket, name string, infos []blob.Info) string {
	dir := blob.Parent(name)
	if infos[0].Name != name || dir == "." || dir == "/" {
		return ""
	}
	for _, c := range s {
		if c.Info().Ext != "" {
			continue
		}
		if dialect, err := Sniff(ctx, c, b, dir); err != nil || dialect == "" {
			continue
		}
		if r, err := c.Open(ctx, b, dir, Options{}); err == nil {
			own := slices.ContainsFunc(r.Matrices(), func(m matrix.Meta) bool { return !strings.Contains(m.Name, "/") })
			r.Close()
			if own { // not only matrices of models in folders below
				return fmt.Sprintf("a file of the %s model %s, want the whole of it", c.Info().Name, dir)
			}
		}
	}
	return ""
}

// minUnderstood is how many bytes a reader must have understood before its error tells anything: the first numbers of a
// binary file can mean something in many formats.
const minUnderstood = 12

// nearest is the error of the codec that understood most of a path that no codec claims: the one that its ending names,
// else the one whose reader got furthest. A damaged file is so told from a foreign one; in a folder a codec that finds
// damage has found its own files before.
func (s Set) nearest(ctx context.Context, b blob.Bucket, name string, folder bool) error {
	named, _, _ := s.ByExt(name)
	var near *Error
	for _, c := range s {
		if c.Info().Loose && (named == nil || c.Info().Name != named.Info().Name) {
			continue
		}
		r, err := c.Open(ctx, b, name, Options{})
		if err == nil {
			r.Close()
			continue
		}
		var e *Error
		isNamed := named != nil && c.Info().Name == named.Info().Name
		known := errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) || isNamed && errors.Is(err, ErrLimit)
		if !known || !errors.As(Wrap(c.Info().Name, name, err), &e) {
			continue
		}
		if isNamed {
			return e
		}
		if (folder || e.Off >= minUnderstood) && (near == nil || e.Off > near.Off) {
			near = e
		}
	}
	if near == nil {
		return nil
	}
	return near
}

// namedLimit is how many paths an error names.
const namedLimit = 8

// entries names what lies right in a folder, of which these are all files.
func entries(folder string, infos []blob.Info) string {
	var names []string
	for _, i := range infos {
		rel, _ := blob.Rel(folder, i.Name)
		if first, _, deeper := strings.Cut(rel, "/"); deeper {
			rel = first + "/"
		}
		if len(names) == 0 || names[len(names)-1] != rel { // they are sorted
			names = append(names, rel)
		}
	}
	return firstOf(names)
}

// firstOf names the first few, and says how many more there are.
func firstOf(names []string) string {
	text := strings.Join(names[:min(len(names), namedLimit)], ", ")
	if n := len(names) - namedLimit; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Several is the error of a folder that holds several models, each at a path of its own.
func Several(paths []string) error {
	return fmt.Errorf("%w: a folder of %d models, want the path of one: %s", ErrUnknown, len(paths), firstOf(paths))
}

// found describes a path that no codec knows.
func found(ctx context.Context, b blob.Bucket, name string, infos []blob.Info) string {
	if infos[0].Name != name {
		text := fmt.Sprintf("a folder with %d files: %s", len(infos), entries(name, infos))
		if !slices.ContainsFunc(infos, func(i blob.Info) bool { return strings.Trim(blob.Base(i.Name), "0123456789") != "" }) {
			text += " (numbers name data files of Angel: --from angel reads them without metadata)"
		}
		return text
	}
	head := make([]byte, min(16, infos[0].Size))
	if o, err := b.Open(ctx, name); err == nil {
		defer o.Close()
		if _, err := o.ReadAt(head, 0); err == nil {
			return fmt.Sprintf("%d bytes that begin with % x", infos[0].Size, head)
		}
	}
	return fmt.Sprintf("%d bytes", infos[0].Size)
}

// foreignHead is how many bytes of a file foreign looks at.
const foreignHead = 64 << 10

// foreignAt names the model of another program at a path; "" of all else.
func foreignAt(ctx context.Context, b blob.Bucket, name string, infos []blob.Info) string {
	if infos[0].Name != name {
		return ""
	}
	o, err := b.Open(ctx, name)
	if err != nil {
		return ""
	}
	defer o.Close()
	head := make([]byte, min(foreignHead, infos[0].Size))
	if _, err := o.ReadAt(head, 0); err != nil {
		return ""
	}
	return foreign(head)
}

// foreign names a model of another program that no codec reads; "" of all else.
func foreign(head []byte) string {
	catboost := bytes.HasPrefix(head, []byte("CBM1"))
	if text := bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(text, []byte("{")) {
		catboost = bytes.Contains(text, []byte(`"oblivious_trees"`)) || bytes.Contains(text, []byte(`"float_features"`))
	}
	if catboost {
		return "a model of CatBoost, which is not read: LightGBM's and XGBoost's models of trees are"
	}
	return ""
}

// Open detects the format of a path, or takes the named one, and opens it.
func (s Set) Open(ctx context.Context, b blob.Bucket, name, codec string, o Options) (Reader, Codec, error) {
	var c Codec
	var r Reader
	err := pinned(ctx, b, name, func(v *blob.View) (err error) {
		if codec != "" {
			c, err = s.Lookup(codec)
		} else {
			c, _, err = s.detect(ctx, v, name)
		}
		if err == nil {
			r, err = openIn(ctx, c, v, name, o)
		}
		return err
	})
	return r, c, err
}

func (s Set) pick(ctx context.Context, b blob.Bucket, name, codec string) (Codec, error) {
	if codec != "" {
		return s.Lookup(codec)
	}
	c, _, err := s.Detect(ctx, b, name)
	return c, err
}

// Find is the description of one matrix of a reader. "" stands for the only one.
func Find(r Reader, name string) (matrix.Meta, error) {
	ms := r.Matrices()
	var names []string
	for _, m := range ms {
		if m.Name == name || name == "" && len(ms) == 1 {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if name == "" {
		return matrix.Meta{}, fmt.Errorf("%d matrices, name one with --matrix: %s", len(ms), strings.Join(names, ", "))
	}
	return matrix.Meta{}, fmt.Errorf("matrix %q: %w, want one of %s", name, ErrMatrix, strings.Join(names, ", "))
}

// Missing reports whether the error says that a path does not exist.
func Missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
