package main

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

const (
	// heapEvery is how often the bound of the Go heap follows what else the process takes.
	heapEvery = 25 * time.Millisecond
	// leastHeap is the part of the memory that the Go heap may have in any case: a collector that runs all the time helps
	// nobody.
	leastHeap = 8
)

// smallHeap is the heap below which the collector has nothing to do: a command that takes a tenth of a second would spend a tenth of
// it on collecting a few MB again and again.
const smallHeap = 32 << 20

// letSmallHeapsBe has the collector wait until the heap has grown to smallHeap, however little of it is in use, and leaves larger
// heaps as they are.
func letSmallHeapsBe() {
	if os.Getenv("GOGC") == "" { // whoever sets it knows better
		followHeap(100)
	}
}

// followHeap sets by how many percent the heap may grow, which was is until now, and does so again after each collection.
func followHeap(is int) {
	const usual, most = 100, 800 // a heap of which nothing is in use grows to 4 MiB times the share: with most, to smallHeap
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	n := min(max(usual, usual*smallHeap/(live[0].Value.Uint64()+1)), most)
	if int(n) != is {
		debug.SetGCPercent(int(n))
	}
	runtime.AddCleanup(new(*int), followHeap, int(n)) // which is garbage, and so found by the next collection
}

// boundHeap keeps the garbage of this process within the memory that it may take, until ctx ends: the collector may let the
// heap grow by what the process has beside it (outsideHeap or besideHeap) leaves.
func boundHeap(ctx context.Context, total int64, besides func() int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return // whoever sets it knows better
	}
	tick := time.NewTicker(heapEvery)
	defer tick.Stop()
	defer debug.SetMemoryLimit(math.MaxInt64)
	for {
		n, is := max(total-besides(), total/leastHeap), debug.SetMemoryLimit(-1)
		if max(n-is, is-n) > total/64 {
			debug.SetMemoryLimit(n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// outsideHeap is the memory of this process that the Go runtime has not got from the system, in bytes, without pages of files, which the
// system takes back when it needs them; 0 if the system does not tell.
func outsideHeap() int64 {
	_, ofFiles := residentMemory()
	return max(0, besideHeap()-ofFiles)
}

// besideHeap is outsideHeap with the pages of files, such as those of the program.
func besideHeap() int64 {
	resident, _ := residentMemory()
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	return max(0, resident-int64(of[0].Value.Uint64()-of[1].Value.Uint64()))
}

// residentMemory is the memory of this process, in bytes, and how much of it are pages of files, such as its code; 0 if the system does
// not tell.
func residentMemory() (all, ofFiles int64) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return 0, 0
	}
	all, err = strconv.ParseInt(fields[1], 10, 64)
	ofFiles, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || err2 != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	return all * page, ofFiles * page
}
