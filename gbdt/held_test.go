package gbdt

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"thole.example/data"
)

// TestHeld: rows that are held out, or not drawn, change no tree, and get the scores that the trees give them.
func TestHeld(t *testing.T) {
	opt := data.Options{Format: "dummy"}
	train, test := load(t, "a9a/a9a_123d_train.dummy", 123, opt), load(t, "a9a/a9a_123d_test.dummy", 123, opt)
	conf := Defaults()
	conf.Objective, _ = FindObjective("binary")
	conf.Trees = 8
	for _, share := range []float64{1, 0.6} {
		conf.Rows, conf.Columns = share, share
		b, err := Bin(context.Background(), train, nil, conf.Bins, 2)
		if err != nil {
			t.Fatal(err)
		}
		conf.Cores = 1
		alone, err := Train(context.Background(), b, &Labels{Label: train.Set.Label}, conf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if b, err = Bin(context.Background(), train, test, conf.Bins, 1); err != nil {
			t.Fatal(err)
		}
		var learned, held []float64
		conf.Cores = 2
		y := &Labels{Label: slices.Concat(train.Set.Label, test.Set.Label)}
		e, err := Train(context.Background(), b, y, conf, Options{Each: func(p *Progress) (float64, error) {
			learned, held = p.Scores[0], p.Held[0]
			return 0, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, alone) {
			t.Errorf("share %v: held-out rows or goroutines change the trees", share)
		}
		if !slices.Equal(learned, scores(e, train)) || !slices.Equal(held, scores(e, test)) {
			t.Errorf("share %v: scores in training are others than those of the trees", share)
		}
		if n := e.Trees[0].LeafCount; share < 1 {
			if rows := sumOf(n); rows < 19000 || rows > 20100 {
				t.Errorf("%d rows were drawn, want about %v of %d", rows, share, train.Len())
			}
		}
	}
}

func sumOf(all []int64) (sum int64) {
	for _, n := range all {
		sum += n
	}
	return sum
}
