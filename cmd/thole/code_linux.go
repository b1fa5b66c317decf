package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropCode gives the pages of the program's file back to the system: of those that the start of the process has read, serving needs about
// half, and these come back as they are used. Pages that were changed stay, which none are of an executable without relocations.
func dropCode() {
	path, err := os.Readlink("/proc/self/exe")
	text, err2 := os.ReadFile("/proc/self/smaps")
	if err != nil || err2 != nil {
		return
	}
	var from, to uintptr // of the mapping, while it may be dropped
	for line := range strings.Lines(string(text)) {
		var lo, hi uintptr
		var mode string
		fields := strings.Fields(line)
		if n, _ := fmt.Sscanf(line, "%x-%x %4s", &lo, &hi, &mode); n == 3 {
			from, to = 0, 0
			if strings.HasPrefix(mode, "r-") && strings.HasSuffix(line, " "+path+"\n") {
				from, to = lo, hi
			}
		} else if from < to && len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // it saves memory, and no more
		}
	}
}
