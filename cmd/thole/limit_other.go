//go:build !linux

package main

// addressesLeft is how many bytes of addresses this process may still take; 0 if there is no limit that is known.
func addressesLeft() int64 { return 0 }
