// Package data reads labelled examples from files: libsvm, dummy (indices only), one file each. Errors carry the file
// and the line.
package data

import "thole/matrix"

// Batch is a run of examples: one label and one sparse row of features each. X holds *matrix.CSR[float32] with columns
// as absolute feature ids; At.Rows counts examples from the first of the file. A Batch is read-only.
type Batch struct {
	Label []float32
	X     matrix.Block
}

// Len is the number of examples.
func (b *Batch) Len() int { return len(b.Label) }

// Rows are the features: the view of X as what it always is.
func (b *Batch) Rows() *matrix.CSR[float32] { return b.X.Data.(*matrix.CSR[float32]) }
