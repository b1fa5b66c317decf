package spell

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNear(t *testing.T) {
	known := []string{"outputdim", "outputdims", "lr", "epoch", "decayclass", "decayalpha", "decaybeta", "accuracy", "auc", "adam", "adamw", "gbt", "gbdt"}
	for name, want := range map[string]string{
		"OUTPUTDIM": "outputdim", "outputdimss": "outputdims", "epochs": "epoch", "lrr": "lr", "decay_class": "decayclass", "epohc": "epoch",
		"rate": "", "": "", "x": "", strings.Repeat("lr", 100): "", "a": "", "adamx": "adam", "adamwd": "adamw", "gbtd": "gbdt", "GTB": "gbt",
		"acc": "accuracy", "decay": "decayclass decayalpha decaybeta", "lr_of_layers": "", "ADA": "adam adamw",
	} {
		if got := strings.Join(Near(name, known), " "); got != want {
			t.Errorf("near %q are %q, want %q", name, got, want)
		}
		if got := Nearest(name, known); got != strings.Split(want, " ")[0] {
			t.Errorf("nearest to %q is %q, want the first of %q", name, got, want)
		}
	}
	if got := Near("ab", []string{"abc", "abd", "abe", "abf"}); len(got) != 3 {
		t.Errorf("%q are near, want three at most", got)
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"reg3", []string{"reg1", "reg2", "lr"}, `no setting "reg3", want one of reg1 reg2 lr; did you mean reg1 or reg2?`},
		{"deca", []string{"decay1", "decay2", "decay3"}, `no setting "deca", want one of decay1 decay2 decay3; did you mean decay1, decay2 or decay3?`},
		{"adma", []string{"sgd", "adam", "ftrl"}, `no setting "adma", want one of sgd adam ftrl; did you mean adam?`},
		{"eps", []string{"reg1"}, `no setting "eps", want one of reg1`},
		{"eps", nil, `no setting "eps", want one of none`},
	} {
		if got := Unknown("no setting", c.name, c.known).Error(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b"), rapid.String().Draw(t, "c")
		x, y, z := []rune(a), []rune(b), []rune(c)
		if d := distance(x, y); d != distance(y, x) || d > max(len(x), len(y)) || (d == 0) != slices.Equal(x, y) ||
			d > distance(x, z)+distance(z, y) {
			t.Errorf("distance of %q and %q is %d, by way of %q %d + %d", a, b, d, c, distance(x, z), distance(z, y))
		}
	})
}

// TestNearest: the one name that is meant, or none.
func TestNearest(t *testing.T) {
	known := []string{"outputdim", "outputdims", "lr", "epoch", "decayclass"}
	for name, want := range map[string]string{"OUTPUTDIM": "outputdim", "outputdimss": "outputdims", "epochs": "epoch", "lrr": "lr",
		"decay_class": "decayclass", "rate": "", "": "", "x": "", strings.Repeat("lr", 100): "", "epohc": "epoch"} {
		if got := Nearest(name, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}
