package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// progress shows how far long work is: a line that changes on a terminal, otherwise plain lines, seldom. Lines that stay
// may be printed by several goroutines; the rest is for one.
type progress struct {
	mu    sync.Mutex // of what is printed, and of shown
	w     io.Writer
	now   func() time.Time
	live  bool // w is a terminal
	what  string
	unit  string // what is counted
	total int64
	done  int64
	speed speed
	last  time.Time // that something was shown
	shown bool      // there is a line to remove
	told  int       // percent of the last plain line; below 0 before the first one and of work of unknown length
	pause time.Duration
}

// Plain lines are for files and pipes: the first comes after plainFirst, another one not before plainEvery. It says at least plainStep
// percent more than the one before, or any more after plainLong. The time between lines of work of unknown length doubles up to
// plainLong. On a terminal the line changes after liveEvery, and quick work shows none.
const (
	plainEvery = 2 * time.Second
	plainFirst = time.Second
	plainLong  = time.Minute
	plainStep  = 10
	liveEvery  = 100 * time.Millisecond
)

// untold is the percent before the first plain line.
const untold = -plainStep

// progress begins the work; unit is what is counted.
func (e *env) progress(what, unit string, total int64) *progress {
	now := e.now()
	p := &progress{w: raw(e.err), now: e.now, live: terminal(e.err), what: what, unit: unit, total: max(1, total), last: now,
		speed: speed{from: mark{at: now}}, told: untold, pause: plainEvery}
	if !p.live {
		p.last = now.Add(plainFirst - plainEvery)
	}
	return p
}

// expect says how much there is to do, once that is known.
func (p *progress) expect(total int64) { p.total = max(1, total) }

// restart makes the speed that of what is done from now on.
func (p *progress) restart() { p.speed = speed{from: mark{p.now(), p.done}} }

// due reports whether it is time to show something again.
func (p *progress) due(now time.Time) bool {
	every := plainEvery
	if p.live {
		every = liveEvery
	}
	return now.Sub(p.last) >= every
}

// set moves the progress to done, with a word on the state.
func (p *progress) set(done int64, state string) {
	p.done = done
	now := p.now()
	if !p.due(now) {
		return
	}
	p.speed.see(mark{now, done})
	p.show(now, state, share(done, p.total), p.speed.words(p.total, p.unit))
}

// read is set of a total that may be 0: then nobody knows how much is left.
func (p *progress) read(done, total int64) {
	if total > 0 {
		p.total = total
		p.set(done, "")
	}
}

// during is set where only time passes: so much of a whole, which is 0 if nobody knows it.
func (p *progress) during(state string, passed, whole time.Duration) {
	now := p.now()
	switch {
	case !p.due(now):
	case whole > 0:
		left := max(0, whole-passed).Round(time.Second)
		p.show(now, state, share(int64(passed), int64(whole)), []string{"left " + left.String()})
	default:
		p.show(now, state, unknown, []string{"for " + passed.Round(time.Second).String()})
	}
}

// unknown is the share of work that has no known length.
const unknown = -1

// news reports whether a plain line would say enough that the last one did not.
func (p *progress) news(now time.Time, share float64) bool {
	since := now.Sub(p.last)
	if share == unknown {
		if since < p.pause {
			return false
		}
		p.told, p.pause = untold, min(2*p.pause, plainLong)
		return true
	}
	percent := int(math.Round(100 * share))
	if percent < p.told+plainStep && (percent == p.told || since < plainLong && percent < 100) {
		return false
	}
	p.told = percent
	return true
}

func (p *progress) show(now time.Time, state string, share float64, words []string) {
	if !p.live && !p.news(now, share) {
		return
	}
	p.last = now
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		fmt.Fprintln(p.w, escaped(plainLine(p.what, state, share, words)))
		return
	}
	p.shown = true
	fmt.Fprint(p.w, "\r"+escaped(liveLine(columns(p.w), p.what, state, share, words))+"\x1b[K")
}

// add moves the progress on by n.
func (p *progress) add(n int) { p.set(p.done+int64(n), "") }

// line prints a line that stays, above the one that changes.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove()
	fmt.Fprintln(p.w, escaped(fmt.Sprintf(format, args...)))
}

// end removes the line that changes.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove()
}

func (p *progress) remove() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// share is how much is done, from 0 to 1.
func share(done, total int64) float64 { return min(1, max(0, float64(done)/float64(total))) }

// plainLine is a line of progress for files.
func plainLine(what, state string, share float64, words []string) string {
	first := what + ":"
	if share != unknown {
		first = fmt.Sprintf("%s: %.0f%%", what, 100*share)
	}
	all := append([]string{first, state}, words...)
	return strings.Join(without(all, ""), "  ")
}

// without leaves out words.
func without(words []string, none string) (left []string) {
	for _, w := range words {
		if w != none {
			left = append(left, w)
		}
	}
	return left
}

// The bar takes what the words leave, within these bounds.
const (
	shortestBar = 8
	longestBar  = 40
)

// liveLine is a line of progress for a terminal of so many columns, of which it leaves one free: else some terminals begin a
// new line. What has no room is left out: the bar, then the rate, then the end of the words.
func liveLine(columns int, what, state string, share float64, words []string) string {
	room := max(1, columns-1)
	percent := ""
	if share != unknown {
		percent = fmt.Sprintf("%3.0f%%", 100*share)
	}
	for whole := true; ; whole = false {
		all := without(append([]string{what, percent, state}, words...), "")
		text := strings.Join(all, "  ")
		left := room - utf8.RuneCountInString(text) - 2
		switch {
		case whole && left >= shortestBar && share != unknown:
			all[0] += "  " + bar(min(left, longestBar), share)
			return strings.Join(all, "  ")
		case left >= -2:
			return text
		case len(words) > 0:
			words = words[1:]
		default:
			return string([]rune(text)[:room])
		}
	}
}

// bar is a picture of a share, of so many characters.
func bar(width int, share float64) string {
	full := int(share * float64(width-2))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-2-full) + "]"
}

// mark is how much was done at a time.
type mark struct {
	at   time.Time
	done int64
}

// speedOver is how much of the past decides the speed.
const speedOver = 5 * time.Second

// speed is how fast the work goes, lately: since from, which is 5 to 10 seconds ago, once so much time has passed.
type speed struct{ from, next, now mark }

// see is told how much is done.
func (s *speed) see(m mark) {
	s.now = m
	switch {
	case s.next.at.IsZero():
		s.next = m
	case m.at.Sub(s.next.at) >= speedOver:
		s.from, s.next = s.next, m
	}
}

// words are the rate and the time left; none as long as nothing is known.
func (s *speed) words(total int64, unit string) []string {
	seconds := s.now.at.Sub(s.from.at).Seconds()
	rate := float64(s.now.done-s.from.done) / seconds
	if !(seconds > 0) || !(rate > 0) {
		return nil
	}
	left := time.Duration(min(float64(max(0, total-s.now.done))/rate, 1e9) * float64(time.Second))
	return []string{perSecond(rate, unit), "left " + left.Round(time.Second).String()}
}

// perSecond is a rate of a unit, such as 2.3 MB/s or 12k rows/s.
func perSecond(rate float64, unit string) string {
	text := count(rate)
	switch {
	case rate < 1:
		text = fmt.Sprintf("%.2g", rate)
	case unit == "B":
		number := strings.TrimRight(text, "kMGT")
		return number + " " + strings.TrimPrefix(text, number) + "B/s"
	}
	return text + " " + unit + "/s"
}

// count is a number in three digits.
func count(v float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		if v < 999.5 {
			if v < 99.95 && unit != "" {
				return fmt.Sprintf("%.1f%s", v, unit)
			}
			return fmt.Sprintf("%.0f%s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.0fT", v)
}
