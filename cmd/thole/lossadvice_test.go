package main

import (
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/gbdt"
)

// TestLossAdvice follows the advice for every loss of trees and other programs: the loss or the algorithm that it names exists and fits.
func TestLossAdvice(t *testing.T) {
	for _, name := range []string{"linreg", "lr", "softmax", "fm"} {
		recipe, err := algo.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, foreign := range algo.ForeignLosses() {
			_, err := withLoss(recipe, foreign, nil)
			if err == nil {
				continue
			}
			advice := lossAdvice(recipe, foreign)
			if !strings.HasSuffix(err.Error(), advice) {
				t.Errorf("--algo %s --loss %s: %q, want the advice %q", name, foreign, err, advice)
			}
			if _, objective, ok := strings.Cut(advice, "--algo gbdt --loss "); ok {
				if _, err := gbdt.FindObjective(objective); err != nil {
					t.Errorf("--algo %s --loss %s: advice %q: %v", name, foreign, advice, err)
				}
			}
			if _, own, ok := strings.Cut(advice, "did you mean "); ok {
				if _, err := withLoss(recipe, strings.TrimSuffix(own, "?"), nil); err != nil {
					t.Errorf("--algo %s --loss %s: advice %q: %v", name, foreign, advice, err)
				}
			}
			if name == "softmax" && strings.Contains(advice, "--algo softmax") {
				t.Errorf("--algo %s --loss %s: advice %q", name, foreign, advice)
			}
		}
	}
}
