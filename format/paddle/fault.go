package paddle

import (
	"errors"
	"fmt"

	"thole.example/format"
	"thole.example/wire"
)

// Fault is a class of things that can be wrong with a file, for programs that have to tell them apart.
type Fault string

// The classes. An error can be of none.
const (
	FaultTruncated Fault = "truncated"        // the file ends too early
	FaultVersion   Fault = "bad-version"      // of the file, of a tensor, of a pickle
	FaultDesc      Fault = "bad-desc"         // the description of a tensor, or its size
	FaultType      Fault = "bad-dtype"        // no element type
	FaultDims      Fault = "bad-dims"         // dimensions below 0, too many, or beyond 2^63 elements
	FaultLoD       Fault = "bad-lod"          // levels, their sizes, their offsets
	FaultRows      Fault = "bad-rows"         // ids, number or height of selected rows
	FaultName      Fault = "bad-name"         // no UTF-8, too long, or twice
	FaultFlags     Fault = "bad-flags"        // of a record, or its padding
	FaultChecksum  Fault = "checksum"         // see ChecksumError
	FaultTrailing  Fault = "trailing-data"    // bytes behind the end
	FaultShape     Fault = "shape-mismatch"   // not what the topology says
	FaultGlobal    Fault = "forbidden-global" // see GlobalError
	FaultForeign   Fault = "not-paddle"       // no file of Paddle
)

// FaultError is an error of a class. Its text is that of Err.
type FaultError struct {
	Fault Fault
	Err   error
}

// Error implements error.
func (e *FaultError) Error() string { return e.Err.Error() }

// Unwrap gives the error itself.
func (e *FaultError) Unwrap() error { return e.Err }

// FaultOf is the class of an error of this package; "" if it has none.
func FaultOf(err error) Fault {
	var sum *ChecksumError
	var global *GlobalError
	var fault *FaultError
	switch {
	case errors.As(err, &sum):
		return FaultChecksum
	case errors.As(err, &global):
		return FaultGlobal
	case errors.Is(err, wire.ErrTruncated):
		return FaultTruncated
	case errors.As(err, &fault):
		return fault.Fault
	case errors.Is(err, format.ErrVersion):
		return FaultVersion
	}
	return ""
}

// fault is failAt with the class of the error.
func (s *scan) fault(f Fault, off int64, text string, args ...any) {
	if s.err == nil {
		s.err = &wire.At{Off: off, Err: &FaultError{f, fmt.Errorf(text, args...)}}
	}
}

// faultOf is the class of a count or a number that is out of its range.
func faultOf(what string) Fault {
	switch what {
	case "length of the name":
		return FaultName
	case "number of dimensions", "dimension":
		return FaultDims
	case "number of LoD levels", "size of a LoD level", "number of offsets", "offset":
		return FaultLoD
	case "number of rows", "row", "height":
		return FaultRows
	case "size of the description":
		return FaultDesc
	}
	return FaultTruncated // more than the file holds
}
