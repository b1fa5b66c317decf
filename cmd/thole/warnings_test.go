package main

import (
	"strings"
	"testing"

	"thole.example/train"
)

// TestUncalibratedTrees wants the advice for trees to name the flag that they have.
func TestUncalibratedTrees(t *testing.T) {
	p := &plan{job: &job{}, forest: &forest{}}
	p.epochs = 3
	text := p.uncalibrated(&train.Report{Calibration: train.Calibration{Ratio: 0.5}})
	if !strings.Contains(text, "is 0.5 times the mean label; more trees reach it: try --trees 9") {
		t.Error(text)
	}
	if text := p.uncalibrated(&train.Report{Calibration: train.Calibration{Ratio: 1.05}}); text != "" {
		t.Error(text)
	}
}
