package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a long piece of work is: a bar on a terminal, otherwise plain lines, seldom.
type progress struct {
	w     io.Writer
	bar   *progressbar.ProgressBar
	what  string
	total int64
	done  int64
	last  time.Time
}

// plainEvery is how often a line is printed when the output is not a terminal; the first comes after plainFirst.
const (
	plainEvery = 2 * time.Second
	plainFirst = time.Second
)

// newProgress begins the work; unit is what is counted. A bar appears only after some time, so quick work shows none.
func newProgress(w io.Writer, what, unit string, total int64) *progress {
	p := &progress{w: w, what: what, total: max(1, total), last: time.Now().Add(plainFirst - plainEvery)}
	if terminal(w) {
		p.bar = progressbar.NewOptions64(p.total,
			progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(unit), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth())
	}
	return p
}

// expect says how much there is to do, once that is known.
func (p *progress) expect(total int64) {
	p.total = max(1, total)
	if p.bar != nil {
		p.bar.ChangeMax64(p.total)
	}
}

// terminal tells whether the output is one that people watch.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// set moves the progress to done, with a word on the state.
func (p *progress) set(done int64, state string) {
	p.done = done
	if p.bar != nil {
		if state != "" {
			p.bar.Describe(p.what + "  " + state)
		}
		_ = p.bar.Set64(min(done, p.total)) // an error of a progress bar is nobody's concern
		return
	}
	if now := time.Now(); now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprintf(p.w, "%s: %.0f%%  %s\n", p.what, 100*float64(done)/float64(p.total), state)
	}
}

// add moves the progress on by n.
func (p *progress) add(n int) { p.set(p.done+int64(n), "") }

// line prints a line that stays, above the bar.
func (p *progress) line(format string, args ...any) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, escaped(fmt.Sprintf(format, args...)))
}

// end removes the bar.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
