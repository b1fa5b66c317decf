package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// lastingTrees is what a user says of the checkpoints of a training of trees, and of the one to go on from.
type lastingTrees interface {
	// folder is where they lie, each in a folder of its own; "": none are written.
	folder() string
	// every is how many steps, of trees iterations, or how much time lie between two of them; one of the two is 0.
	every() (steps int, passed time.Duration)
	// kept is how many of the last ones stay.
	kept() int
	// from is resumeAuto, resumeNever, or the path of a checkpoint or of a folder of them.
	from() string
	// again reports whether this process comes back into a training that is going on: it takes the last checkpoint whatever from says.
	again() bool
}

// What a training goes on from.
const (
	resumeAuto  = "auto"  // the last checkpoint of the folder, if there is one
	resumeNever = "never" // nothing
)

const (
	usualPace = 5 * time.Minute
	usualKept = 3
)

// pace is a flag that says how often something is done: every so many steps, or after so much time.
type pace struct {
	steps  *int
	passed time.Duration
}

// String implements pflag.Value.
func (p *pace) String() string {
	switch {
	case p.passed > 0:
		return p.passed.String()
	case p.steps == nil:
		return "0"
	}
	return strconv.Itoa(*p.steps)
}

// Type implements pflag.Value.
func (p *pace) Type() string { return "pace" }

// Set implements pflag.Value.
func (p *pace) Set(text string) error {
	if n, err := strconv.Atoi(text); err == nil {
		*p.steps, p.passed = n, 0
		return nil
	}
	passed, err := time.ParseDuration(text)
	if err != nil || passed <= 0 {
		return fmt.Errorf("%q, want a whole number, as 100, or a time, as 5m", text)
	}
	*p.steps, p.passed = 0, passed
	return nil
}

// seriesFlags are those of lasting that say it of trees.
func (l *lasting) seriesFlags(c *cobra.Command) {
	l.pace.steps = &l.steps
	c.Flags().Var(&l.pace, "checkpoint-every", "epochs from one checkpoint to the next (default: 1); of trees how many, or a time (default: "+
		usualPace.String()+")")
	c.Flags().IntVar(&l.keep, "keep", usualKept, "of trees: checkpoints that stay, the last ones")
}

// treesLasting is lasting as trees take it.
type treesLasting struct{ *lasting }

func (l treesLasting) folder() string { return l.checkpoint }
func (l treesLasting) kept() int      { return l.keep }
func (l treesLasting) from() string   { return cmp.Or(l.resume, resumeAuto) }
func (l treesLasting) again() bool    { return false } // jobs have one attempt

func (l treesLasting) every() (int, time.Duration) {
	if l.steps == 0 && l.pace.passed == 0 {
		return 0, usualPace
	}
	return l.steps, l.pace.passed
}

// check refuses what makes no sense.
func (l treesLasting) check() error {
	switch {
	case l.steps < 0 || l.folder() == "" && (l.steps > 0 || l.pace.passed > 0):
		return fmt.Errorf("--checkpoint-every %s, want a number of trees or a time, and --checkpoint PATH", &l.pace)
	case l.keep < 1:
		return fmt.Errorf("--keep %d, want 1 or more", l.keep)
	case l.resume == resumeAuto && l.folder() == "":
		return fmt.Errorf("--resume %s without --checkpoint, want both: it goes on from the last checkpoint there", resumeAuto)
	}
	return nil
}
