package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/format/angel"
)

// optionFlag is a flag that stands for an option of formats, whichever have it.
type optionFlag struct {
	flag, option  string
	fixed         string // what a flag without a value stands for; "": it takes the option's value
	reads, writes bool   // where the option matters
	help          string
}

// optionFlags is the table of such flags. All other options are reached by --set and --out.
func optionFlags() []optionFlag {
	return []optionFlag{
		{"separator", "separator", "", true, true, "what stands between the fields of text: comma, tab, ..."},
		{"dialect", "dialect", "", true, true, "variant of the format"},
		{"verify", "verify", "", true, false, "checksums to check when reading: file, record or off"},
		{"no-repair", "repair", "off", true, false, "take column ids of models saved by Angel 3.2.0 as they are stored"},
		{"partition", "partition", "", false, true, "how to cut matrices: range, column or hash"},
		{"block-rows", "block-rows", "", false, true, "rows of a partition or block"},
		{"block-cols", "block-cols", "", false, true, "columns of a partition or block"},
		{"partitions-per-file", "partitions-per-file", "", false, true, "partitions in a data file"},
		{"compat", "compat", "", false, true, "byte for byte what a version expects: " + strings.Join(angel.Releases(), ", ")},
		{"narrow", "narrow", "true", false, true, "the smallest element type that holds each block exactly"},
	}
}

// having are the names of the formats that have an option.
func having(option string) []string { return formatsWith()[option] }

// formatsWith are the names of the formats by their options. Every command has flags that ask for it.
var formatsWith = sync.OnceValue(func() map[string][]string {
	names := map[string][]string{}
	for _, c := range codecs() {
		i := c.Info()
		for _, o := range i.Options {
			names[o.Name] = append(names[o.Name], i.Name)
		}
	}
	return names
})

func hasOption(i format.Info, name string) bool {
	return slices.ContainsFunc(i.Options, func(o format.Option) bool { return o.Name == name })
}

// flagValue is an optionFlag as the command line has it.
type flagValue struct {
	optionFlag
	value string
	on    bool
}

// flagValues are those of a command line.
type flagValues []*flagValue

// flags adds the flags of what a command does: reading, writing, or both. A flag that the command has for something else
// stays what it is.
func (w *flagValues) flags(c *cobra.Command, reads, writes bool) {
	for _, one := range optionFlags() {
		names := having(one.option)
		if len(names) == 0 || c.Flags().Lookup(one.flag) != nil || !(reads && one.reads || writes && one.writes) {
			continue
		}
		v := &flagValue{optionFlag: one}
		help := fmt.Sprintf("%s (%s)", one.help, strings.Join(names, ", "))
		if one.fixed == "" {
			c.Flags().StringVar(&v.value, one.flag, "", help)
		} else {
			c.Flags().BoolVar(&v.on, one.flag, false, help)
		}
		inGroup(c, formatOptions, one.flag)
		*w = append(*w, v)
	}
}

// given is the value of the option; ok is false if the flag is not there.
func (v *flagValue) given() (value string, ok bool) {
	if v.fixed != "" {
		return v.fixed, v.on
	}
	return v.value, v.value != ""
}

// side is a format with the options that it was given by name, to which the flags add.
type side struct {
	format.Codec
	set map[string]string
}

// share hands each flag to a format that has the option: to that of the target (nil: there is none) if the option matters
// for writing, else to those of the sources. It fails for a flag that none of them has.
func (w flagValues) share(target *side, sources ...*side) error {
	for _, v := range w {
		value, ok := v.given()
		if !ok {
			continue
		}
		var to []*side
		if target != nil && v.writes && hasOption(target.Info(), v.option) {
			to = []*side{target}
		} else if v.reads {
			to = slices.DeleteFunc(slices.Clone(sources), func(s *side) bool { return !hasOption(s.Info(), v.option) })
		}
		if len(to) == 0 {
			return v.nobody(target, sources)
		}
		for _, s := range to {
			if err := s.add(v.optionFlag, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// add sets the option; saying two things about it is an error.
func (s *side) add(w optionFlag, value string) error {
	if old, ok := s.set[w.option]; ok && old != value {
		return usageError{fmt.Errorf("--%s and %s=%s, want one of them", w.flag, w.option, old)}
	}
	if s.set == nil {
		s.set = map[string]string{}
	}
	s.set[w.option] = value
	return nil
}

// nobody is the error of a flag that no format at hand has.
func (v *flagValue) nobody(target *side, sources []*side) error {
	all := sources
	if target != nil && v.writes {
		all = []*side{target}
		if v.reads {
			all = append(all, sources...)
		}
	}
	var names []string
	for _, s := range all {
		if !slices.Contains(names, s.Info().Name) {
			names = append(names, s.Info().Name)
		}
	}
	return usageError{fmt.Errorf("--%s: format %s has no such option, want %s",
		v.flag, strings.Join(names, " and "), strings.Join(having(v.option), " or "))}
}
