package main

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"thole.example/data"
	"thole.example/gbdt"
	"thole.example/tree"
)

// treeScorer scores batches with trees, on all processors. What it says of an example depends on that alone.
type treeScorer struct {
	byTrees
	view   *gbdt.View
	trees  *tree.Ensemble // whose features are the slots of the view
	scored *tree.Ensemble // which fast is of
	fast   *tree.Scorer
	sparse bool     // fast scores examples as they are, columns with numbers and values; else rows of the view
	absent float64  // what sparse examples do not have
	of     []string // names of the features
	from   []int32  // which of the model's they are
	block  int      // examples that a processor takes at once
	out    rated
	more   int // further numbers of an example

	shares *tree.Explainer // nil: nobody asks for contributions
	kept   *keptRows       // nil: nobody asks for them
}

// blockValues is about how many values the rows of a block have.
const blockValues = 1 << 16

func newTreeScorer(view *gbdt.View, trees *tree.Ensemble, also byTrees) (*treeScorer, error) {
	use, narrow, from, err := view.Use(trees)
	if err != nil {
		return nil, err
	}
	s := &treeScorer{byTrees: also, view: use, trees: narrow, scored: narrow, from: from, block: 256}
	if s.absent, s.sparse = view.Columns(); s.sparse {
		s.scored = trees
	}
	s.fast = tree.Compile(s.scored)
	if !s.sparse || also.contrib || also.leaves { // which want rows
		s.block = s.rowsBlock()
	}
	for _, f := range from {
		s.of = append(s.of, featureName(trees.Features, int(f)))
	}
	if s.contrib {
		if s.shares, err = tree.NewExplainer(narrow); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// rowsBlock is how many rows are made at once.
func (s *treeScorer) rowsBlock() int { return min(256, max(1, blockValues/max(1, s.view.Width()))) }

// keep makes the scorer keep the rows that it scores, which it has to make.
func (s *treeScorer) keep() {
	s.kept, s.sparse, s.scored, s.block = &keptRows{}, false, s.trees, s.rowsBlock()
	s.fast = tree.Compile(s.scored)
}

// onto makes the scorer add to the start scores of examples, in place of that of the trees.
func (s *treeScorer) onto() { s.fast = tree.Onto(s.scored) }

// featureName is what people call a feature: its name, or its number.
func featureName(features tree.Features, i int) string {
	if i < features.Width {
		if name := features.At(i).Name; name != "" {
			return name
		}
	}
	return strconv.Itoa(i)
}

// names are those of the further numbers of an example.
func (s *treeScorer) names(h *head) (all []string) {
	if s.contrib {
		for c, base := range h.of("base") {
			for _, name := range s.of {
				all = append(all, h.of("contrib_" + name)[c])
			}
			all = append(all, base)
		}
	}
	if s.leaves {
		for i := range s.trees.Scoring() {
			all = append(all, fmt.Sprintf("leaf_%d", i))
		}
	}
	s.more = len(all)
	return all
}

// score scores a batch.
func (s *treeScorer) score(b *data.Batch) (*rated, error) {
	n, classes := b.Len(), s.trees.Classes
	s.out.score, s.out.more = resized(s.out.score, n*classes), resized(s.out.more, n*s.more)
	copy(s.out.score, b.Start) // which the scorer adds to, if there are some
	width, all := s.view.Width(), []float64(nil)
	if s.kept != nil {
		var err error
		if all, err = s.kept.grow(n, width, b.Start); err != nil {
			return nil, err
		}
	}
	blocks, x := (n+s.block-1)/s.block, b.Rows()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), blocks) {
		wg.Go(func() {
			var rows []float64
			for k := int(next.Add(1)) - 1; k < blocks; k = int(next.Add(1)) - 1 {
				lo := k * s.block
				hi := min(n, lo+s.block)
				score, more := s.out.score[lo*classes:hi*classes], s.out.more[lo*s.more:hi*s.more]
				if s.sparse {
					s.fast.Sparse(x.Ptr[lo:hi+1], x.Idx, x.Val, b.Exact, s.absent, score)
				}
				if s.sparse && s.more == 0 {
					continue
				}
				if all != nil {
					rows = all[lo*width : hi*width]
				} else if rows == nil {
					rows = make([]float64, s.block*width)
				}
				s.view.Fill(b, lo, hi, rows)
				s.rows(rows, score, more)
				if s.contrib && b.Start != nil {
					s.base(b.Start[lo*classes:hi*classes], more)
				}
			}
		})
	}
	wg.Wait()
	return &s.out, nil
}

func resized(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// rows scores some rows.
func (s *treeScorer) rows(rows []float64, score, more []float64) {
	w, classes := s.view.Width(), s.trees.Classes
	n := len(score) / classes
	if !s.sparse {
		s.fast.Batch(rows[:n*w], w, score)
	}
	if s.more == 0 {
		return
	}
	for i := range n {
		row, to := rows[i*w:(i+1)*w], more[i*s.more:(i+1)*s.more]
		if s.contrib {
			n := classes * (w + 1)
			s.shares.Contributions(row, to[:n])
			to = to[n:]
		}
		if s.leaves {
			s.leavesOf(row, to)
		}
	}
}

// base puts the start scores of rows in the place of the trees' own, in the base of what contributes to each score.
func (s *treeScorer) base(start, more []float64) {
	w, classes := s.view.Width(), s.trees.Classes
	for i, v := range start {
		c := i % classes
		more[i/classes*s.more+c*(w+1)+w] += v - s.trees.Start[c]
	}
}

// leavesOf are the leaves that a row comes to.
func (s *treeScorer) leavesOf(row []float64, to []float64) {
	at := func(f int32) float64 { return s.trees.Numbers.Value(row[f]) }
	trees := s.trees.Scoring()
	for k := range trees {
		to[k] = float64(trees[k].Leaf(at))
	}
}
