//go:build !linux

package journal

// WriteVec implements File.
func (d *disk) WriteVec(vec [][]byte, off int64) (int64, error) {
	var total int64
	for _, b := range vec {
		n, err := d.WriteAt(b, off+total)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// Allocate implements File.
func (d *disk) Allocate(size int64) error { return d.lengthen(size) }
