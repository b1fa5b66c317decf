package bench

import "testing"

// TestNeed: the estimates are those of what was measured once, within a third.
func TestNeed(t *testing.T) {
	base := Config{Keys: 1e6, Dim: 16, Batch: 10_000, Depth: 1, Tasks: 10, Cols: 25e6}
	for _, c := range []struct {
		name        string
		change      func(c *Config)
		here, there int64 // MB
	}{
		{"table", func(c *Config) { c.Rule = "adagrad" }, 6, 149},
		{"table", func(c *Config) { c.Keys, c.Rule = 2e9, "adagrad" }, 6, 298_000},
		{"pull", func(c *Config) { c.Batch, c.Depth = 1e6, 8 }, 1230, 212},
		{"pull", func(c *Config) { c.Batch, c.Depth = 1<<24, 8 }, 19_000, 2235},
		{"push", func(c *Config) { c.Batch, c.Depth, c.Dim = 300_000, 8, 64 }, 1600, 430},
		{"push", func(c *Config) { c.Wire, c.Rule = "f16", "adagrad" }, 105, 150},
		{"row", func(c *Config) { c.Cols = 100e6 }, 400, 400},
		{"storm", func(*Config) {}, 2000, 100},
		{"storm", func(c *Config) { c.ByKey = true }, 6500, 100},
		{"row", func(c *Config) { c.Apart = true }, 100, 0},
		{"barrier", func(*Config) {}, 0, 0},
	} {
		config := base
		config.What = c.name
		c.change(&config)
		need := config.Need()
		for end, pair := range map[string][2]int64{"requests": {need.Requests, c.here}, "matrices": {need.Matrices, c.there}} {
			if got, want := float64(pair[0])/1e6, float64(pair[1]); got < want*2/3 || got > want*4/3+5 {
				t.Errorf("%s %+v: %.0f MB for %s, want about %.0f", c.name, config, got, end, want)
			}
		}
	}
}
