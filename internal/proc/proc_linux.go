package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Birth is when a process began, in the system's ticks since the machine did; 0 if there is no such process, or it is not seen. Together
// with its id it names a process as long as the machine runs.
func Birth(pid int) uint64 {
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

// Name is the name of a process among all that ever were, of one line; "" if it cannot be told, or there is no such process.
func Name(pid int) string {
	where, birth := here(), Birth(pid)
	if where == "" || birth == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d %d", where, pid, birth)
}

// here is the part of names that processes have in common which can see each other: the start of the system, the machine (copies of a
// virtual one are of one start), and the name space of their ids. "" if ids in /proc are those of another name space.
func here() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	host, herr := os.Hostname()
	space, serr := os.Readlink("/proc/self/ns/pid")
	self, lerr := os.Readlink("/proc/self")
	if errors.Join(err, herr, serr, lerr) != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	return fmt.Sprintf("%s %q %s", strings.TrimSpace(string(boot)), host, space)
}

// Of is the state of the process that has a name.
func Of(name string) State {
	where := here()
	id, of := strings.CutPrefix(name, where+" ")
	if where == "" || !of {
		return Unknown
	}
	var pid int
	var birth uint64
	if n, err := fmt.Sscanf(id, "%d %d", &pid, &birth); n != 2 || err != nil || pid <= 0 || birth == 0 {
		return Unknown
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return Gone
	}
	switch now := Birth(pid); now {
	case birth:
		return Lives
	case 0: // it is ending, or /proc shows no processes of other users
		return Unknown
	default:
		return Gone
	}
}
