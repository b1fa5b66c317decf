package kubernetes

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"thole.example/internal/number"
)

// What launches have if nobody says something else.
const (
	Memory   = "2GiB"
	CPUs     = "1"
	Restarts = 6                // of each worker, as Jobs have it
	Grace    = 30 * time.Second // that pods have to end
	User     = 65532            // "nonroot" of images without a system
)

// Resources is what a pod asks for, and may take at most: quantities; "": nothing is said.
type Resources struct{ Memory, CPU string }

// Asks is what each pod of a component asks for: a size like 4GiB or 4Gi, and a number of processors like 2, 0.5 or 500m; "": as it is
// usual. Errors name it prefix and memory or cpus.
func Asks(prefix, memory, cpus string) (r Resources, err error) {
	n, err := number.ParseBytes(cmp.Or(memory, Memory))
	if err != nil {
		return r, fmt.Errorf("%smemory %w", prefix, err)
	}
	digits, parts := cmp.Or(cpus, CPUs), 1.0
	if rest, thousandths := strings.CutSuffix(digits, "m"); thousandths {
		digits, parts = rest, 1000
	}
	v, err := strconv.ParseFloat(digits, 64)
	if v /= parts; err != nil || !(v >= 0.001 && v <= 1e4) {
		return r, fmt.Errorf("%scpus %.40q, want a number of processors like 2 or 0.5", prefix, cpus)
	}
	r = Resources{Memory: Quantity(n), CPU: strconv.Itoa(int(v))}
	if v != float64(int(v)) {
		r.CPU = fmt.Sprintf("%.0fm", v*1000)
	}
	return r, nil
}

// Quantity is a number of bytes as Kubernetes has it.
func Quantity(bytes int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if bytes%unit.size == 0 {
			return fmt.Sprint(bytes/unit.size, unit.name)
		}
	}
	return fmt.Sprint(bytes)
}
