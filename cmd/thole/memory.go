package main

import (
	"math"
	"os"
	"strconv"
	"strings"

	"thole.example/budget"
)

// The share of the machine's memory that the servers of a process may take if the user does not say how much.
const (
	memoryShare = 3
	memoryParts = 4
)

// machineMemory is the memory of the machine, or of the control groups that this process is in if they have less, in bytes; 0
// if the system does not tell.
func machineMemory() int64 {
	least := groupMemory(os.DirFS("/"))
	if n := systemMemory("MemTotal:"); n > 0 {
		least = min(least, n)
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// systemMemory is an entry of what Linux says of its memory, in bytes; 0 if nothing does.
func systemMemory(entry string) int64 {
	info, _ := os.ReadFile("/proc/meminfo") // other systems have none
	for line := range strings.Lines(string(info)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == entry && fields[2] == "kB" {
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil && n > 0 && n < math.MaxInt64>>10 {
				return n << 10
			}
		}
	}
	return 0
}

// availableMemory is what processes may still take without that others lose theirs, or this one its limit, in bytes; 0 if the system does
// not tell.
func availableMemory() int64 {
	all, left := min(systemMemory("MemAvailable:"), machineMemory()), addressesLeft()
	if all == 0 || left > 0 && left < all {
		return left
	}
	return all
}

// defaultMemory is the bound of the servers of this process where the user gives none, in bytes; 0: none.
func defaultMemory() int64 { return machineMemory() / memoryParts * memoryShare }

// programShare is the part of its memory, of programParts, that the program itself is counted with at most: what is left serves.
const (
	programShare = 5
	programParts = 8
)

// memoryBound is a ledger of as many bytes as the text says, for all servers of this process; nil: no bound. What the process has in memory
// now is counted in it.
func memoryBound(text string) (*budget.Ledger, error) {
	n, err := parseSize("memory", text)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		n = defaultMemory()
	}
	if n <= 0 {
		return nil, nil
	}
	resident, _ := residentMemory()
	return budget.NewWithProgram(n, min(resident, n/programParts*programShare)), nil
}
