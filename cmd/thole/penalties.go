package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// penalties is the settings of what draws the weights of some layers towards zero.
type penalties struct{ l1Of, l2Of map[string]string } // by layers or kinds of them

func (s *penalties) flags(c *cobra.Command) {
	f := c.Flags()
	pairsVar(f, &s.l1Of, "l1-of", "weights of the L1 penalty of some layers, in place of --l1, by their names or kinds: "+
		"KIND=WEIGHT, such as simpleinputlayer=1e-5 (see thole algos)")
	pairsVar(f, &s.l2Of, "l2-of", "weights of the L2 penalty of some layers, in place of --l2: KIND=WEIGHT, such as "+
		"embedding=1e-6,fclayer=1e-4")
}

// byLayer are the penalties of layers or kinds of them.
func (s *penalties) byLayer() (map[string]map[string]float64, error) {
	all := map[string]map[string]float64{}
	for penalty, texts := range map[string]map[string]string{"l1": s.l1Of, "l2": s.l2Of} {
		set, err := numbers(penalty+"-of", texts)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if !finite(set[name]) || set[name] < 0 {
				return nil, fmt.Errorf("--%s-of %s=%v, want a finite number from 0 on", penalty, name, set[name])
			}
			if all[name] == nil {
				all[name] = map[string]float64{}
			}
			all[name][penalty] = set[name]
		}
	}
	return all, nil
}
