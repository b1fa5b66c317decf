package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/state"
)

// checkpointCheck is what verify says of a checkpoint.
type checkpointCheck struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems,omitempty"`
}

func (f *checkpointFlags) verifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify PATH",
		Short: "Check checkpoints: every byte, every checksum, and what they are based on",
		Long: `Reads every byte of a checkpoint and of all that it is based on, or of all checkpoints in a folder, and checks whatever can be
checked: checksums of frames, digests of records and objects, the order of columns and their counts, and that each increment is based on
what it was based on when it was written. The exit status is 0 only if all is well.`,
		Example: "  thole checkpoint verify run/checkpoints\n  thole checkpoint verify run/checkpoints/420 --json",
		RunE: func(c *cobra.Command, args []string) error {
			k, err := f.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return f.verifyAll(c.Context(), k)
		},
	}
	f.jsonFlag(c)
	return c
}

// verifyAll verifies all checkpoints, of one also those that it is based on, each once.
func (f *checkpointFlags) verifyAll(ctx context.Context, k *checkpointer) error {
	entries := k.entries
	if k.single {
		if chain, err := state.OpenChain(ctx, k.bucket, entries[0].Path); err == nil { // else its own check says why
			for _, before := range chain[:len(chain)-1] {
				e, err := state.At(ctx, k.bucket, before.Path())
				if err != nil {
					return err
				}
				entries = append(entries, e)
			}
		}
	}
	total := int64(0)
	for _, e := range entries {
		total += e.Bytes
	}
	p := f.progress("verify "+k.path, "B", total)
	defer p.end()
	var all []checkpointCheck
	bad := 0
	for i := range entries {
		e := &entries[i]
		name := e.Path
		if k.single && i == 0 {
			name = k.path
		}
		one := checkpointCheck{Name: name, Bytes: e.Bytes}
		err := verifyOne(ctx, k, e, func(n int64) { p.add(int(n)) })
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if one.OK = err == nil; err != nil {
			bad++
			one.Problems = strings.Split(err.Error(), "\n")
		}
		all = append(all, one)
		if !f.json {
			p.end()
			one.print(f, e)
		}
	}
	if f.json {
		p.end()
		if err := writeJSON(f.out, all); err != nil {
			return err
		}
	}
	if bad == 0 {
		return nil
	}
	next := ""
	if bad < len(all) && !k.single {
		next = "; a training goes on from the last of the others"
	}
	return fmt.Errorf("%d of %s did not pass%s", bad, number.Of(len(all), "checkpoint"), next)
}

// verifyOne verifies a checkpoint, and the heads of those that it is based on.
func verifyOne(ctx context.Context, k *checkpointer, e *state.Entry, read func(int64)) error {
	if e.Err != nil {
		return e.Err
	}
	if _, err := state.OpenChain(ctx, k.bucket, e.Path); err != nil {
		return err
	}
	in, err := state.NewInput(ctx, k.bucket, e.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.Verify(ctx, read)
}

func (c *checkpointCheck) print(f *checkpointFlags, e *state.Entry) {
	w := legible{f.out}
	for _, what := range c.Problems {
		fmt.Fprintln(w, what)
	}
	if !c.OK {
		return
	}
	kind := "whole"
	if !e.Head.Whole() {
		kind = "increment of " + beside(e.Head.Base.Path, e.Path)
	}
	fmt.Fprintf(w, "%s: ok, %s, %s, %s\n", c.Name, kind, number.Of(len(e.Head.Matrices), "matrix", "matrices"), format.Bytes(c.Bytes))
}
