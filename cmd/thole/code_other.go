//go:build !linux

package main

// dropCode does nothing here.
func dropCode() {}
