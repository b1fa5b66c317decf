//go:build !unix

package bench

import "time"

// cpuTime is unknown here.
func cpuTime() time.Duration { return 0 }

// peakMemory is unknown here.
func peakMemory() int64 { return 0 }

// TimeOf is unknown here.
func TimeOf(int) time.Duration { return 0 }

// PeakOf is unknown here.
func PeakOf(string) int64 { return 0 }
