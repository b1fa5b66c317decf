package tree

import (
	"math"
	"strconv"
	"strings"
)

// Rounded is how many thresholds decide otherwise where values are rounded to float32 before they are compared: those that become one
// with another of their feature, and those at which numbers of few digits, or whole ones, change sides. Where thresholds are of many
// digits, as of measured values, only a value within one part in 10 million of one changes sides, and they do not count.
func (e *Ensemble) Rounded() (n int) {
	if e.Numbers == Float32 {
		return 0
	}
	type place struct {
		feature int32
		single  float32
	}
	seen := map[place]float64{}
	trees := e.Scoring()
	for i := range trees {
		t := &trees[i]
		for node, v := range t.Threshold {
			if t.Kind[node]&Categorical != 0 {
				continue
			}
			at := place{t.Feature[node], Floor32(v)}
			other, is := seen[at]
			if seen[at] = v; is && other != v || changesSides(v) {
				n++
			}
		}
	}
	return n
}

// fewDigits is how many digits a threshold has at most that lies between numbers as people write them.
const fewDigits = 12

// changesSides reports whether a number next to a threshold, of as few digits as that, is on its other side once it is rounded.
func changesSides(t float64) bool {
	if math.IsInf(t, 0) || float64(float32(t)) == t && math.Abs(t) < 1<<24 {
		return false
	}
	text := strconv.FormatFloat(t, 'e', 14, 64)
	digits, exponent, _ := strings.Cut(text, "e")
	digits = strings.TrimRight(digits, "0")
	if len(strings.Trim(strings.Replace(digits, ".", "", 1), "-")) > fewDigits {
		return false
	}
	nearest, _ := strconv.ParseFloat(digits+"e"+exponent, 64)
	power, _ := strconv.Atoi(exponent)
	step := math.Pow10(power - max(0, len(digits)-strings.IndexByte(digits, '.')-1))
	for _, v := range [...]float64{nearest, nearest - step, nearest + step, math.Floor(t), math.Floor(t) + 1} {
		if (v <= t) != (float64(float32(v)) <= t) {
			return true
		}
	}
	return false
}
