//go:build unix

package bench

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// cpuTime is the processor time of this process until now.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peakMemory is the most memory that this process has had, 0 where the system does not say.
func peakMemory() int64 { return PeakOf("self") }

// TimeOf is the processor time of a process until now, 0 where the system does not say: of its threads in nanoseconds, or,
// if they are not told, of the process in hundredths of a second.
func TimeOf(pid int) time.Duration {
	dir := "/proc/" + strconv.Itoa(pid)
	threads, _ := os.ReadDir(dir + "/task")
	var sum time.Duration
	for _, thread := range threads {
		text, err := os.ReadFile(dir + "/task/" + thread.Name() + "/schedstat")
		if err != nil {
			continue // it has ended
		}
		if fields := bytes.Fields(text); len(fields) > 0 {
			n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			sum += time.Duration(n)
		}
	}
	if sum > 0 {
		return sum
	}
	return ticks(dir)
}

// ticks is the processor time of a process as the system accounts for it.
func ticks(dir string) time.Duration {
	const hertz = 100 // of the kernel's interface, everywhere
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * time.Second / hertz
}

// PeakOf is the most memory that a process has had, 0 where the system does not say.
func PeakOf(pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	for _, line := range bytes.Split(text, []byte("\n")) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			n, _ := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return n << 10
		}
	}
	return 0
}
