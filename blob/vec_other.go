//go:build !linux

package blob

import "os"

// WriteVec writes slices to a file, one after the other from off on, and gives how many bytes it wrote. It changes the slice of slices.
func WriteVec(f *os.File, vec [][]byte, off int64) (int64, error) {
	var total int64
	for _, b := range vec {
		n, err := f.WriteAt(b, off+total)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
