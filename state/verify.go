package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/ssp"
)

// Verify reads every byte of the checkpoint itself: the records of all partitions, the state of the job of each server, and loose
// objects, with all checksums, digests, orders and counts. It goes on after an error and answers with all of them, each with the
// file and the byte. read, which may be nil, is told how many bytes were read. What the checkpoint is based on is for OpenChain.
func (in *Input) Verify(ctx context.Context, read func(bytes int64)) error {
	if read == nil {
		read = func(int64) {}
	}
	var wrong []error
	said := map[string]bool{}
	note := func(err error) {
		if err != nil && !said[err.Error()] { // what a whole file has fails each record of it
			said[err.Error()] = true
			wrong = append(wrong, err)
		}
	}
	for i := range in.Matrices {
		m := &in.Matrices[i]
		for id, place := range m.Records {
			note(in.Record(ctx, m, id, func(*Partition, Band) error { return nil }))
			read(place.Size)
		}
	}
	for server, f := range in.Files {
		s, err := in.Job(ctx, server)
		if err == nil {
			_, err = ssp.FromState[Delta, int](*s, 0)
			err = format.Wrap(codec, blob.Join(in.path, name(server)), err)
		}
		note(err)
		read(f.Size - f.Job)
	}
	for _, name := range in.Loose {
		data, err := in.Get(ctx, name)
		note(err)
		read(int64(len(data)))
	}
	note(in.strangers(ctx))
	return errors.Join(wrong...)
}

// VerifyRest reads what a training that continues does not read otherwise: the state of the job in each server's file, and the loose
// objects. Damage there would otherwise go unnoticed until somebody needs them. It reads a frame at a time and decodes nothing; the first
// error ends it.
func (in *Input) VerifyRest(ctx context.Context) error {
	for server := range in.Files {
		if err := in.verifyJob(ctx, server); err != nil {
			return format.Wrap(codec, blob.Join(in.path, name(server)), err)
		}
	}
	for _, name := range in.Loose {
		if _, err := in.Get(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// verifyJob checks the frames of the state of the job in a server's file.
func (in *Input) verifyJob(ctx context.Context, server int) error {
	if err := in.open(ctx, server); err != nil {
		return err
	}
	begin := in.Files[server].Job
	r, err := in.reader.Rest(begin)
	for err == nil && r.More() {
		if err = context.Cause(ctx); err == nil {
			_, _, _, err = r.next("the state of the job")
		}
	}
	if err != nil {
		return err
	}
	return r.wantSum(begin, in.Files[server].Sum, "the state of the job")
}

// strangers says which objects lie in the tree and are not of the checkpoint.
func (in *Input) strangers(ctx context.Context) error {
	objects, err := in.bucket.List(ctx, in.path)
	if err != nil {
		return err
	}
	var wrong []error
	for _, o := range objects {
		below := strings.TrimPrefix(o.Name, in.path+"/")
		ours := below == HeadName || slices.Contains(in.Loose, below)
		for server := range in.Files {
			ours = ours || below == name(server)
		}
		if !ours {
			wrong = append(wrong, format.Wrap(codec, o.Name, fmt.Errorf("%d bytes that are not of the checkpoint: %w", o.Size, format.ErrCorrupt)))
		}
	}
	return errors.Join(wrong...)
}
