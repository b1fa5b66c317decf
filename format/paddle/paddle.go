// Package paddle reads and writes parameter files of PaddlePaddle.
//
// Profile seed004 is the layout of the design document "Model Format" (PaddlePaddle, October 2017). The document's table
// prints one offset wrong (0009 for 0012); with that corrected every field has its printed type and place:
//
//	file     0   u32   byte order: 01 00 00 00 little, 00 00 00 00 big; it holds for all integers and values
//	         4   u32   version; 110 is paddle 0.11.0. We write 110 and read 1..65535
//	         8   u32   checksum: the first 8 hex digits of the MD5 of bytes 12 to the end; 0: not computed
//	        12         one record or more, to the end of the file
//	record   0   u8    flags: 0 tensor, 1 LoDTensor; further bits below
//	         1   i32   length n of the name, 0..65535
//	         5   n     name, UTF-8 without NUL, no name twice in a file
//	       5+n   i32   number d of dimensions, 0..9
//	       9+n   d     dimensions, i32 each, none below 0
//	             1     dtype, with bit 1
//	             …     with bit 0: i32 levels (0..16); each level i32 count and count offsets, i32 each
//	             1+p   padding, with bit 4: u8 p and p zero bytes
//	             …     values, row-major, float32 without bit 1
//	             16    with bit 3: MD5 of the record, from its flags to its last value
//
// The document says nothing about the place of the LoD, about the scope of the checksum and about other types than
// float32; docs/format/paddle.md gives the reasons for what stands above. Bits 1 to 4 are our extension (profile
// seed004-ext), which leaves the meaning of flags 0 and 1 alone:
//
//	bit 1 (2)    one byte with Paddle's code of the element type
//	bit 2 (4)    dimensions and LoD offsets are u64
//	bit 3 (8)    a digest of the record
//	bit 4 (16)   values begin at a multiple of 64 bytes of the file
//
// We write bits 1 and 2 only where a matrix needs them, bits 3 and 4 only when asked.
//
// Besides this profile there is what Paddle's releases wrote; each has its bytes in the comment of its variable and a
// section in docs/format/paddle.md:
//
//	stream        0.12 to 3.x: one stream for each variable, in files of their own or combined (read and written)
//	pickle        .pdparams and .pdopt of paddle.save, protocol 2 to 5, by a machine that calls nothing
//	tnum          1.6 and 1.7: named tensors in one file
//	v011          Fluid 0.11: as stream, with the LoD behind the values
//	pr4602        October 2017, never released
//	selectedrows  some rows of a tall matrix (read and written)
//	v2, v2tar     the first API versions: raw parameters, alone or in an archive, which may be compressed (v2tar.gz)
//	model         a topology file that has its parameters beside it
//
// A folder of files with one variable each is read as a whole, whatever layout they have; so is a model that package pack
// put into one file. A tensor is seen as a matrix: rank 0 as 1 x 1, rank 1 as one row, higher ranks as the first dimension by
// the rest. Complex numbers and floats of 8 bits are held as types that have all their values (Meta.Origin).
package paddle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/pack"
	"thole.example/wire"
)

const name = "paddle"

// Codec reads and writes parameter files of PaddlePaddle.
var Codec format.Codec = codec{}

// profile is one layout of parameters that Paddle's documents or releases define.
type profile interface {
	// Name is what the option layout calls it.
	Name() string
	// Looks tells from the first bytes whether the path may be of the profile, so that its Open gives the error.
	Looks(ctx context.Context, b blob.Bucket, path string) bool
	// Sniff, Open, Explain and Create are as in format.Codec.
	Sniff(ctx context.Context, b blob.Bucket, path string) (string, error)
	Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error)
	Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error
	Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o format.Options) (format.Writer, error)
}

// profiles is the table of layouts, in the order of detection.
func profiles() []profile {
	return []profile{
		stateDict,
		v2Tar,
		v2Gzip,
		layoutT,
		seed{},
		streams{},
		modelFile{},
		layoutB,
		v2Param,
		layoutP,
		selectedRows,
	}
}

type codec struct{}

// Info implements format.Codec.
func (codec) Info() format.Info {
	return format.Info{
		Name:  name,
		Title: "PaddlePaddle parameters",
		Ext:   ".params",
		Reads: "the model format document's parameter file (seed004, seed004-ext), both byte orders; what Paddle wrote: " +
			"streams of 0.12 to 3.x in separate and combined files (.pdiparams) and model folders, pickle (.pdparams, .pdopt), " +
			"tnum, v011, pr4602, selectedrows, v2 files and archives (also .tar.gz)",
		Writes:  "the model format document's parameter file; streams, separate and combined; selectedrows",
		Origins: origins(),
		Endings: []format.Ending{{Ext: ".pdiparams", Set: map[string]string{"layout": "stream"}}},
		Options: []format.Option{
			{Name: "verify", Default: "file", Help: "checksums to check on reading: file, record, off"},
			{Writing: true, Name: "layout", Default: "seed004",
				Help: "layout to write: seed004, stream (one file), separate, combined (folders), selectedrows"},
			{Writing: true, Name: "endian", Default: "little", Help: "byte order to write: little, big"},
			{Writing: true, Name: "digest", Default: "false", Help: "write an MD5 behind each record (extension)"},
			{Writing: true, Name: "align", Default: "false", Help: "begin values at multiples of 64 bytes (extension)"},
		},
	}
}

// Sniff implements format.Codec.
func (codec) Sniff(ctx context.Context, b blob.Bucket, path string) (string, error) {
	in, err := pack.Inside(ctx, b, path)
	if err != nil {
		return "", nil // damaged: Open says what is wrong
	}
	for _, p := range profiles() {
		dialect, err := p.Sniff(ctx, in, path)
		if dialect != "" && in != b {
			dialect = "packed in one file: " + dialect
		}
		if dialect != "" || err != nil {
			return dialect, err
		}
	}
	return "", nil
}

// find is the profile that the path holds, or else the first that its beginning looks like, which is a guess.
func find(ctx context.Context, b blob.Bucket, path string) (p profile, guessed bool, err error) {
	var like profile
	for _, p := range profiles() {
		if dialect, err := p.Sniff(ctx, b, path); dialect != "" && err == nil {
			return p, false, nil
		}
		if like == nil && p.Looks(ctx, b, path) {
			like = p
		}
	}
	if like != nil {
		return like, true, nil
	}
	o, err := b.Open(ctx, path)
	if err != nil {
		return nil, false, err
	}
	defer o.Close()
	head := make([]byte, min(16, o.Size()))
	if err := readAt(o, head, 0); err != nil {
		return nil, false, err
	}
	if len(head) == 0 {
		return nil, false, &wire.At{Off: 0, Err: fmt.Errorf("an empty file: %w", wire.ErrTruncated)}
	}
	if likeLayoutC(head) {
		return streams{}, true, nil
	}
	err = fmt.Errorf("%d bytes that begin with % x, want a parameter file: %w", o.Size(), head, format.ErrCorrupt)
	return nil, false, &wire.At{Off: 0, Err: &FaultError{FaultForeign, err}}
}

// likeLayoutC reports whether a file that is none is nearest to a stream: a small version, then a number of 64 bits.
func likeLayoutC(head []byte) bool {
	return len(head) >= 12 && head[1]|head[2]|head[3] == 0 && (head[0] == 0 || head[0] < 16 && head[4]|head[5]|head[6]|head[7] == 0)
}

// asLayout says in an error for which layout the file was taken, where that is a guess.
func asLayout(p profile, guessed bool, err error) error {
	var e *format.Error
	if !guessed || !errors.As(err, &e) {
		return err
	}
	return &format.Error{Codec: e.Codec, Path: e.Path, Off: e.Off, Err: fmt.Errorf("%w (read as layout %s)", e.Err, p.Name())}
}

// Open implements format.Codec.
func (c codec) Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	if v := o.Get(c.Info(), "verify"); v != "file" && v != "record" && v != "off" {
		return nil, fmt.Errorf("verify %q, want file, record or off: %w", v, format.ErrOption)
	}
	b, err := pack.Inside(ctx, b, path)
	if err != nil {
		return nil, err
	}
	p, guessed, err := find(ctx, b, path)
	if err != nil {
		return nil, format.Wrap(name, path, err)
	}
	r, err := p.Open(ctx, b, path, o)
	return r, asLayout(p, guessed, format.Wrap(name, path, err))
}

// Explain implements format.Codec.
func (codec) Explain(ctx context.Context, b blob.Bucket, path string, p *dump.Printer) error {
	b, err := pack.Inside(ctx, b, path)
	if err != nil {
		return err
	}
	prof, guessed, err := find(ctx, b, path)
	if err != nil {
		return format.Wrap(name, path, err)
	}
	return asLayout(prof, guessed, format.Wrap(name, path, prof.Explain(ctx, b, path, p)))
}

// Create implements format.Codec.
func (c codec) Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	if len(ms) == 0 {
		return nil, fmt.Errorf("no matrix to write: %w", format.ErrMatrix)
	}
	p, err := byName(o.Get(c.Info(), "layout"))
	if err != nil {
		return nil, err
	}
	w, err := p.Create(ctx, b, path, ms, o)
	return w, format.Wrap(name, path, err)
}

// byName is the profile that the option layout names.
func byName(layout string) (profile, error) {
	if slices.Contains(streamLayouts(), layout) {
		return streams{}, nil
	}
	var names []string
	for _, p := range profiles() {
		if p.Name() == layout {
			return p, nil
		}
		names = append(names, p.Name())
	}
	names = append(names, streamLayouts()[1:]...)
	return nil, fmt.Errorf("layout %q, want one of %s: %w", layout, strings.Join(names, ", "), format.ErrOption)
}
