package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/wire"
)

// bytesOf is the values of a block where they lie.
func bytesOf(b matrix.Block) []byte {
	raw, _ := wire.ViewAny(b.Data.Values())
	return raw
}

// barWidth is the longest bar of a histogram.
const barWidth = 50

// show prints an answer: cells as a table, a histogram as a picture, others as they are.
func (f *calling) show(out io.Writer, name string, answer psf.Answer) error {
	switch {
	case f.asJSON:
	case strings.EqualFold(name, "topk"):
		var places []psf.Place
		if err := answer.Decode(&places); err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "ROW\tCOLUMN\tVALUE\t")
		for _, p := range places {
			fmt.Fprintf(w, "%d\t%d\t%s\t\n", p.Row, p.Col, strings.Trim(string(p.Value), `"`))
		}
		return w.Flush()
	case strings.EqualFold(name, "histogram"):
		var h psf.Histogram
		if err := answer.Decode(&h); err != nil {
			return err
		}
		return showHistogram(out, &h)
	}
	_, err := fmt.Fprintf(out, "%s\n", strings.Trim(answer.String(), `"`))
	return err
}

func showHistogram(out io.Writer, h *psf.Histogram) error {
	most := max(1, h.Below, h.Above)
	for _, n := range h.Bins {
		most = max(most, n)
	}
	w := tabwriter.NewWriter(out, 0, 4, 1, ' ', tabwriter.AlignRight)
	line := func(from, to string, n int64) {
		bar := strings.Repeat("█", int(float64(n)/float64(most)*barWidth))
		fmt.Fprintf(w, "%s\t%s\t%d\t %s\n", from, to, n, bar)
	}
	line("below", short64(h.Min), h.Below)
	for i, n := range h.Bins {
		line(short64(h.Min+float64(i)*h.Width), short64(h.Min+float64(i+1)*h.Width), n)
	}
	line(short64(h.Min+float64(len(h.Bins))*h.Width), "above", h.Above)
	if h.NaN > 0 {
		line("no", "number", h.NaN)
	}
	return w.Flush()
}

// short64 is a bound of a bin.
func short64(v float64) string { return fmt.Sprintf("%.4g", v) }
