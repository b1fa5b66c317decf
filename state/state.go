// Package state writes the state of partitions and jobs as bytes, and reads it: what a checkpoint consists of. A partition is
// a record (how many steps its rule has made, its columns or cells, and the slots of the rule beside them); a job is its
// core's ssp.State with the deltas that are not yet due. Neither knows of servers: any number of them may read what any
// other number wrote.
//
// # Bytes
//
// A stream is 8 bytes "THOLEST" and the version 1, and frames. All numbers are little-endian.
//
//	offset size field
//	     0    4  kind of the frame
//	     4    4  CRC32C of the kind, the length and the body
//	     8    8  n, length of the body
//	    16    n  body
//	           zeros up to a multiple of 8
//
//	kind name        body
//	   1 partition   JSON: matrix, partition, place, element type, bits of the hash, slots, steps, values of
//	                absent columns
//	   2 columns     keys, and a row for each of them
//	   3 cells       values of some cells, and those of each slot for the same cells
//	   4 end         JSON: how many columns or cells the record has
//	   5 job         JSON: clocks, members with their windows, what is staged
//	   6 delta       keys, if it has keys, and values
//	   7 checkpoint  JSON: the matrices, the files, and where in them each record is
//	   8 candidates  keys, and for each a count and a step
//	   9 rates       the rates of the last steps
//	  10 removed     keys
//	  11 note        bytes of whoever wrote the stream; no checkpoint has any
//
// Keys and values are blocks of the DAPHNE format as package blockio writes them (docs/format/block.md): keys n x 1 of i64,
// values of the element type of the matrix.
//
// A record is a partition frame, frames of columns (of a sparse matrix) or cells, and an end. Columns are in ascending
// order of kernel.Hash through the whole record; their block has a row of (1 + slots) x R values for each, where R is how
// many rows of the matrix the partition has: the values, then each slot. If the partition says that it is aged, a third
// block of n x 1 of i64 has the step that named each column last. If it says that columns are stale, they are as of steps that
// one more block of n x 1 of i64 has; the rates of the steps since then, and up to the partition's last, which bring them up to
// date, stand in a frame of rates before the first columns: n x 1 of f64. If it says that it is ranked, a last block of n x 1 of u8
// has the rank of each in its bucket (package shard), 0 for those that nothing has named for longest.
//
// Cells are 1 + slots blocks of one place, whole rows or a part of one, in row-major order through the whole record, with
// nothing left out.
//
// Frames of candidates may stand between the columns and the end: columns that steps have named and that are not made, in
// ascending order of kernel.Hash; a block of n x 2 of i64 says how many steps named each, and the last of them, and if the
// partition is ranked a block of n x 1 of u8 the rank of each.
//
// A record of an increment, whose partition frame says that it is partial, has the columns or cells that have changed since the
// checkpoint that it is based on: places of cells ascend, and leave out what has not changed. Before its end may stand frames of
// the keys of columns that were removed since, in ascending order of kernel.Hash; those that were made again are among the columns
// too. Everything else, candidates and the job among it, is whole in each increment.
//
// A job frame is followed by a delta frame for each delta that it says is staged, in that order: with keys two blocks (a row of
// R values for each key, where R is how many rows the delta has), else one block of its place.
//
// A checkpoint is a tree of objects: streams "server.0", "server.1" and so on, each with the records of that server's
// partitions and its job, and a stream "checkpoint" with one checkpoint frame, which says what the others have to be, with a digest
// over the heads of the frames of each record and of each job. That of an increment names the checkpoint that it is based on, by a path
// relative to its own folder, by identity, and by a digest of what that says that it is of. Checkpoints of one training lie in a folder,
// with names of how many steps were made (StepName).
package state

import (
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// Version is the version of streams.
const Version = 1

// magic is what a stream begins with.
const magic = "THOLEST\x01"

// kind tells frames apart.
type kind uint32

const (
	kindPartition kind = 1 + iota
	kindColumns
	kindCells
	kindEnd
	kindJob
	kindDelta
	kindCheckpoint
	kindCandidates
	kindRates
	kindRemoved
	kindNote
)

var kinds = [...]string{
	"nothing", "partition", "columns", "cells", "end", "job", "delta", "checkpoint", "candidates", "rates", "removed", "note",
}

func (k kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// Partition is the head of a record.
type Partition struct {
	Matrix string
	ID     int // number of the partition
	At     matrix.Rect
	Sparse bool
	Bits   int // how many top bits of kernel.Hash chose it: they are ID. 0: it is a rectangle
	DType  matrix.DType
	Slots  int   // of the rule
	Steps  int64 // that the rule has made
	Aged   bool  // of each column there is the step that named it last
	Stale  bool  // of each column there is the step that it is as of
	Ranked bool  // of each column there is its rank in its bucket
	// Partial says that the record has only what has changed since the checkpoint that this one is based on.
	Partial bool
	Absent  string // values of columns that the record does not have, one for each row, as they lie in memory; "": zero
}

// Width is how many values a column of a sparse partition has, with those of the slots.
func (p *Partition) Width() int64 { return p.At.Rows.Len() * int64(1+p.Slots) }

// slotLimit and rowLimit are sizes that no partition has; with them Width is far from what an int64 counts.
const (
	slotLimit = 64
	rowLimit  = 1 << 40
)

// check says what cannot be.
func (p *Partition) check() error {
	switch {
	case p.At.Rows.Hi < p.At.Rows.Lo || p.At.Cols.Hi < p.At.Cols.Lo:
		return fmt.Errorf("partition %d of matrix %q at %v, want ranges that ascend", p.ID, p.Matrix, p.At)
	case p.At.Rows.Len() > rowLimit:
		return fmt.Errorf("partition %d of matrix %q has %d rows, want at most 2^40", p.ID, p.Matrix, p.At.Rows.Len())
	case p.Slots < 0 || p.Slots > slotLimit:
		return fmt.Errorf("partition %d of matrix %q has %d slots, want 0 to %d", p.ID, p.Matrix, p.Slots, slotLimit)
	case (p.Aged || p.Ranked) && !p.Sparse:
		return fmt.Errorf("partition %d of matrix %q is dense and has the age of columns, want a sparse one", p.ID, p.Matrix)
	case p.Stale && !p.Sparse:
		return fmt.Errorf("partition %d of matrix %q is dense and has columns that are stale, want a sparse one", p.ID, p.Matrix)
	case p.Steps < 0:
		return fmt.Errorf("partition %d of matrix %q has made %d steps, want none below 0", p.ID, p.Matrix, p.Steps)
	case p.Bits < 0 || p.Bits > 32 || p.Bits > 0 && !p.Sparse || p.ID < 0 || p.Bits > 0 && int64(p.ID)>>p.Bits != 0:
		return fmt.Errorf("partition %d of matrix %q is chosen by %d bits, want 0 to 32 with the number in them", p.ID, p.Matrix, p.Bits)
	}
	if n := len(p.Absent); n > 0 && (!p.Sparse || int64(n) != p.At.Rows.Len()*int64(p.DType.Size())) {
		return fmt.Errorf("partition %d of matrix %q has %d bytes for columns that are not there, want one value for each row of a sparse one",
			p.ID, p.Matrix, n)
	}
	if _, ok := p.At.Cells(); !ok && !p.Sparse {
		return fmt.Errorf("partition %d of matrix %q at %v, want fewer than 2^63 cells", p.ID, p.Matrix, p.At)
	}
	return nil
}

// Band is some of a record: columns by key, cells, or columns that are not made yet. Its values belong to whoever reads it.
type Band struct {
	Keys   []int64        // of the columns; nil: cells
	Values []matrix.Block // with keys one block with a row for each; else one of the cells and one of each slot

	// Last is the step that named each column last, where the partition is aged and of candidates; Counts is nil, or how many
	// steps named each of the keys, which have no values: they are candidates.
	Last, Counts []int64

	Stamps []int64   // the step that each column is as of, where they are stale
	Rates  []float64 // instead of columns: of the last steps; they come before columns that are stale

	Ranks []uint8 // of the keys, where the partition is ranked

	// Removed is nil, or the keys of columns that were removed since the base of a partial record; there is nothing else then.
	Removed []int64
}

// typeNames are the element types by name; their numbers are private to a process.
func typeOf(name string) (matrix.DType, error) {
	for _, d := range matrix.DTypes() {
		if d.String() == name {
			return d, nil
		}
	}
	return matrix.Invalid, fmt.Errorf("element type %q, want one of %v", name, matrix.DTypes())
}

// jsonLimit is how long JSON in a frame may be: parsed it takes some times as much.
const jsonLimit = 1 << 28

// check refuses a body of n bytes that is too long for its kind. Blocks have no limit of their own: they take what they have.
func (k kind) check(n uint64) error {
	switch k {
	case kindPartition, kindEnd, kindJob, kindCheckpoint:
		if n > jsonLimit {
			return fmt.Errorf("%v of %d bytes, want at most %d: %w", k, n, jsonLimit, format.ErrLimit)
		}
	}
	return nil
}
