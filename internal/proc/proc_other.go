//go:build !linux

package proc

// Birth is 0, as this package does not know how to ask the system: then no process is signalled by its id alone.
func Birth(int) uint64 { return 0 }

// Name is "", as above.
func Name(int) string { return "" }

// Of is Unknown, as above.
func Of(string) State { return Unknown }
