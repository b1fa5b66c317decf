package feature

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// zones is what the times of a column say of their zone. It does not depend on the order in which they come.
type zones struct {
	sync.Mutex
	naive, zoned bool
	offsets      map[int32]bool
	candidates   []*time.Location // with the offsets of all times so far
}

// candidateZones are zones of which one has the offsets of nearly every column that was written in local time: one for each set of rules
// of summer time.
func candidateZones() []string {
	return []string{"Europe/Berlin", "Europe/London", "Europe/Helsinki", "America/New_York", "America/Chicago", "America/Denver",
		"America/Los_Angeles", "America/Anchorage", "America/Halifax", "America/St_Johns", "Australia/Sydney", "Australia/Adelaide",
		"Pacific/Auckland", "America/Santiago", "America/Sao_Paulo", "Asia/Jerusalem", "Africa/Cairo", "Europe/Moscow", "Europe/Istanbul",
		"Atlantic/Azores", "America/Havana", "America/Mexico_City", "America/Asuncion", "Asia/Beirut", "Asia/Tehran", "Africa/Casablanca",
		"Europe/Chisinau", "Europe/Kiev", "Australia/Lord_Howe", "Pacific/Chatham", "America/Nuuk", "Asia/Amman", "America/Campo_Grande"}
}

func newZones() *zones {
	z := &zones{offsets: map[int32]bool{}}
	for _, name := range candidateZones() {
		if zone, err := time.LoadLocation(name); err == nil {
			z.candidates = append(z.candidates, zone)
		}
	}
	return z
}

// zonesSeen is what one goroutine has added to the zones of a column.
type zonesSeen struct {
	of    *zones
	last  zoneKey
	known map[zoneKey]struct{}
}

// zoneKey is an offset within a quarter of an hour: rules change no more often.
type zoneKey struct {
	quarter int64
	offset  int32
	kind    uint8 // 0: none yet, 1: naive, 2: zoned
}

// knownLimit is how many keys a goroutine keeps.
const knownLimit = 1 << 14

// add adds a time.
func (z *zonesSeen) add(s stamp) {
	key := zoneKey{kind: 1}
	if s.zoned {
		key = zoneKey{(s.wall - int64(s.offset)) / 900, s.offset, 2}
	}
	if key == z.last {
		return
	}
	z.last = key
	if _, known := z.known[key]; known {
		return
	}
	if z.known == nil || len(z.known) > knownLimit {
		z.known = map[zoneKey]struct{}{}
	}
	z.known[key] = struct{}{}
	z.of.add(s)
}

func (z *zones) add(s stamp) {
	z.Lock()
	defer z.Unlock()
	if !s.zoned {
		z.naive = true
		return
	}
	z.zoned, z.offsets[s.offset] = true, true
	at := time.Unix(s.wall-int64(s.offset), 0)
	z.candidates = slices.DeleteFunc(z.candidates, func(zone *time.Location) bool {
		_, offset := at.In(zone).Zone()
		return int32(offset) != s.offset
	})
}

// name is the zone of the times, "" if they have none, or none that explains all of them.
func (z *zones) name() string {
	switch {
	case !z.zoned || z.naive:
		return ""
	case len(z.offsets) == 1 && z.offsets[0]:
		return "UTC"
	case len(z.offsets) == 1:
		for o := range z.offsets {
			return offsetText(o)
		}
	case len(z.candidates) > 0:
		return z.candidates[0].String()
	}
	return ""
}

// list is the offsets in words.
func (z *zones) list() string {
	var all []string
	sorted := slices.Sorted(maps.Keys(z.offsets))
	for _, o := range sorted[:min(6, len(sorted))] {
		all = append(all, offsetText(o))
	}
	if len(sorted) > 6 {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}

// note is what a user should know of the zone of a column that names none, "" for nothing.
func (z *zones) note(name string) string {
	switch found := z.name(); {
	case z.zoned && z.naive:
		return fmt.Sprintf("column %q: some times have a zone (offset %s) and others have none; all are taken as they are written: --timezone "+
			"%s=NAME converts them to one zone", name, z.list(), name)
	case len(z.offsets) > 1 && found == "":
		return fmt.Sprintf("column %q: times have the offsets %s, which no time zone explains; they are taken as they are written: --timezone "+
			"%s=NAME converts them to one zone", name, z.list(), name)
	case len(z.offsets) > 1:
		return fmt.Sprintf("column %q: the offsets %s are those of %s, in which times are taken (--timezone %s=NAME names another zone)", name,
			z.list(), found, name)
	}
	return ""
}
