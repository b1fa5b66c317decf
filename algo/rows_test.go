package algo

import "testing"

// TestForRows: small data have a penalty of 1/rows, with rare features half of their number in an example as much, large data that of the
// recipe, and only recipes that have one.
func TestForRows(t *testing.T) {
	for _, a := range Algos() {
		least, linear := a.Defaults.Hyper["l2"], !a.Network() && a.Defaults.Hyper["l2"] > 0
		for _, rows := range []int{0, 1, 3000, 10_000, 1_000_000} {
			for size, times := range map[float64]float64{0: 1, 1: 1, 39: 19.5} {
				want := least
				if linear && rows > 0 {
					want = max(least, times/float64(rows))
				}
				if got := a.ForRows(rows, size).Defaults.Hyper["l2"]; got != want {
					t.Errorf("%s, %d rows of size %g: l2 %g, want %g", a.Name, rows, size, got, want)
				}
			}
		}
		if a.Defaults.Hyper["l2"] != least {
			t.Errorf("%s: the table changed", a.Name)
		}
	}
}
