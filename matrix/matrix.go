// Package matrix holds the nouns that every other package speaks of: element types, places, and blocks of values with
// the arithmetic on them. It imports nothing of the project, does no input or output, and starts no goroutine.
//
// A [Block] is the one thing that travels: a pulled row, a gradient, a mini-batch, a saved partition and a converted
// file are all Blocks. Its values are held in one of five ways, the sealed interface [Data]:
//
//	Empty      no value stored
//	Dense[T]   every cell, row-major
//	CSR[T]     compressed sparse rows
//	COO[T]     coordinates
//	Cols[T]    selected columns, each with its values for all rows
//
// Row numbers count from At.Rows.Lo; column ids are absolute everywhere (they are keys, and hashed keys use all of
// int64). Columns are features; rows are outputs, factors or classes.
//
// Operations dispatch once per block through the sealed interface and then run a generic loop, never an interface call
// per element.
package matrix
