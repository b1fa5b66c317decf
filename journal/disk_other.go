//go:build !linux

package journal

// Allocate implements File.
func (d *disk) Allocate(size int64) error { return d.lengthen(size) }
