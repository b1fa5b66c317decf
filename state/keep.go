package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
)

// Names in a folder of checkpoints of one training: nameDigits digits of how many steps were made when it was taken, so that names
// are in the order of time; and bestPrefix with bestDigits digits of an epoch for the best of these.
const (
	nameDigits = 12
	bestPrefix = "best."
	bestDigits = 6
)

// StepName is the name in its folder of a checkpoint after so many steps.
func StepName(steps int64) string { return fmt.Sprintf("%0*d", nameDigits, steps) }

// BestName is the name in its folder of the checkpoint of an epoch that was the best so far.
func BestName(epoch int) string { return fmt.Sprintf("%s%0*d", bestPrefix, bestDigits, epoch) }

// digits reports whether the text is at least n digits, and nothing else.
func digits(text string, n int) bool {
	return len(text) >= n && strings.Trim(text, "0123456789") == ""
}

// Stepped reports whether the name is one of a checkpoint after some steps; there are others that are not of the series: of a best
// epoch, or with names that somebody else gave.
func (e *Entry) Stepped() bool { return digits(e.Name, nameDigits) }

// Ours reports whether a training gave the name: others are left alone.
func (e *Entry) Ours() bool {
	epoch, best := strings.CutPrefix(e.Name, bestPrefix)
	return e.Stepped() || best && digits(epoch, bestDigits)
}

// Keep is those of a folder's checkpoints, by name as List gives them, that may go, so that of each run the last k stay that can be
// read, and with all that stay what they are based on and the best that they name, and bests of later epochs than the last names: no
// checkpoint has been written since. Those that cannot be read stay, as do those with names that no training gives. k below 1 counts as 1.
func Keep(entries []Entry, k int) (gone []Entry) {
	byPath := map[string]*Entry{}
	for i := range entries {
		byPath[entries[i].Path] = &entries[i]
	}
	stays, kept := map[string]bool{}, map[string]int{}
	var stay func(e *Entry)
	stay = func(e *Entry) {
		for e != nil && !stays[e.Path] {
			stays[e.Path] = true
			if e.Err != nil {
				return
			}
			if best := e.Head.Moment.Best; best != "" {
				stay(byPath[blob.Join(blob.Parent(e.Path), best)])
			}
			e = byPath[e.Head.Base.Path]
		}
	}
	last := ""
	for i := range entries {
		if e := &entries[i]; e.Err == nil && e.Stepped() {
			last = cmp.Or(e.Head.Moment.Best, bestPrefix)
		}
	}
	for i := range slices.Backward(entries) {
		e := &entries[i]
		switch {
		case e.Err != nil || !e.Ours() || last != "" && !e.Stepped() && e.Name > last:
			stay(e)
		case e.Stepped() && kept[e.Head.Moment.Run] < max(1, k):
			kept[e.Head.Moment.Run]++
			stay(e)
		}
	}
	for _, e := range entries {
		if !stays[e.Path] {
			gone = append(gone, e)
		}
	}
	return gone
}

// ChainLimit is how many increments in a row Next asks for at most.
const ChainLimit = 10

// Next is what the next checkpoint of a run should be: a whole one, or an increment of base, the last of the run that can be read. It is
// whole when there is none, when what the last is based on is not all in the folder, and when the increments since the last whole one
// are ChainLimit, or have more than half of its bytes: reading them all would take longer than writing another whole one is worth.
func Next(entries []Entry, run string) (whole bool, base Entry) {
	byPath, last := map[string]*Entry{}, (*Entry)(nil)
	for i := range entries {
		if e := &entries[i]; e.Err == nil && e.Head.Moment.Run == run {
			byPath[e.Path] = e
			if e.Stepped() {
				last = e
			}
		}
	}
	if last == nil || last.Head.ID == "" {
		return true, Entry{}
	}
	bytes, e := int64(0), last
	for n := 0; !e.Head.Whole(); n++ {
		bytes += e.Bytes
		before := byPath[e.Head.Base.Path]
		known := e.Head.Base.ID // a catalogue says paths alone
		if n+1 >= ChainLimit || before == nil || known != "" && before.Head.ID != known {
			return true, Entry{}
		}
		e = before
	}
	if 2*bytes > e.Bytes {
		return true, Entry{}
	}
	return false, *last
}
