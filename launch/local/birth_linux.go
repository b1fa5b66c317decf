package local

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// birth is when a process began, in the system's ticks since the machine did; 0 if there is no such process. Together with its id it names
// a process: ids are used again.
func birth(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the name in parentheses, in which anything may be; the start is the 22nd one (proc_pid_stat(5)).
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return 0
	}
	n, _ := strconv.ParseUint(fields[19], 10, 64) // the system writes a number
	return n
}
