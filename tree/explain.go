package tree

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// Explanation says of one row why it has its score.
type Explanation struct {
	Class    int     `json:"class"`
	Score    float64 `json:"score"`    // before the link
	Expected float64 `json:"expected"` // the score where no feature is known
	// Parts are of the features that contribute, the largest first.
	Parts []Part `json:"parts"`
}

// Part is what a feature contributes.
type Part struct {
	Feature      int     `json:"feature"`
	Name         string  `json:"name"`
	Value        string  `json:"value"` // of the row, as people read it
	Contribution float64 `json:"contribution"`
}

// Explain explains the score of a row, one explanation for each class.
func (x *Explainer) Explain(row []float32) []Explanation {
	wide := len(x.e.Features) + 1
	out, scores, all := make([]float64, x.e.Classes*wide), make([]float64, x.e.Classes), make([]Explanation, x.e.Classes)
	x.Contributions(row, out)
	x.e.Score(row, scores)
	for c := range all {
		of := out[c*wide : (c+1)*wide]
		all[c] = Explanation{Class: c, Score: scores[c], Expected: of[wide-1], Parts: []Part{}}
		for f, v := range of[:wide-1] {
			if v == 0 {
				continue
			}
			value := float32(0)
			if f < len(row) {
				value = row[f]
			}
			all[c].Parts = append(all[c].Parts, Part{f, x.e.name(f), x.e.value(f, value), v})
		}
		slices.SortFunc(all[c].Parts, func(a, b Part) int {
			return cmp.Or(cmp.Compare(math.Abs(b.Contribution), math.Abs(a.Contribution)), cmp.Compare(a.Feature, b.Feature))
		})
	}
	return all
}

// Text prints an explanation as a table: its largest parts (0: all), the sum of the others, and the score.
func (a *Explanation) Text(w io.Writer, most int) error {
	out := bufio.NewWriter(w)
	parts, rest := a.Parts, 0.0
	if most > 0 && len(parts) > most {
		for _, p := range parts[most:] {
			rest += p.Contribution
		}
		parts = parts[:most]
	}
	rows := [][2]string{{"expected", ""}}
	values := []float64{a.Expected}
	for _, p := range parts {
		rows, values = append(rows, [2]string{p.Name, p.Value}), append(values, p.Contribution)
	}
	if n := len(a.Parts) - len(parts); n > 0 {
		rows, values = append(rows, [2]string{fmt.Sprintf("%d more", n), ""}), append(values, rest)
	}
	rows, values = append(rows, [2]string{"score", ""}), append(values, a.Score)
	wide := [2]int{}
	for i := range rows {
		for k := range wide {
			rows[i][k] = shorten(rows[i][k], 40)
			wide[k] = max(wide[k], utf8.RuneCountInString(rows[i][k]))
		}
	}
	for i, r := range rows {
		fmt.Fprintf(out, "%-*s  %-*s  %+.6g\n", wide[0], r[0], wide[1], r[1], values[i])
	}
	return out.Flush()
}

// shorten cuts a text to so many letters.
func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
