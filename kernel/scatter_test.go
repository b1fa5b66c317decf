package kernel

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/wire"
)

// batchOf is a batch of keys of which some come twice, and the number of unique ones.
func batchOf(t *rapid.T) (inputs []Input, unique int) {
	seen := map[int64]uint32{}
	for i, key := range rapid.SliceOfN(rapid.Int64Range(0, 60), 0, 100).Draw(t, "keys") {
		place, again := seen[key]
		if !again {
			place = uint32(len(seen))
			seen[key] = place
		} else {
			place |= Again
		}
		inputs = append(inputs, Input{key, uint32(i), place})
	}
	return inputs, len(seen)
}

// Every implementation moves the same bytes, and adds in the order of the inputs.
func TestScatterGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, unique := batchOf(t)
		n := rapid.SampledFrom([]int{1, 2, 3, 8, 16, 24, 32}).Draw(t, "n")
		const first = 7
		for i := range inputs {
			inputs[i].Position += first
		}
		src := random[float32](len(inputs) * n)
		want := make([]float32, unique*n)
		met := map[uint32]bool{}
		for i, e := range inputs {
			to := want[(int(e.Position&^Again)-first)*n:][:n]
			for j, v := range src[i*n:][:n] {
				if met[e.Position&^Again] {
					to[j] += v
				} else {
					to[j] = v
				}
			}
			met[e.Position&^Again] = true
		}
		for on := plain; on <= machine; on++ {
			got := make([]float32, unique*n)
			sumInputsOn(on, got, src, n, inputs, first)
			if !slices.Equal(got, want) {
				t.Fatalf("level %d: gathered %v, want %v", on, got, want)
			}
			back := make([]float32, len(src))
			scatterInputsOn(on, wire.View(back), wire.View(want), 4*n, inputs, first)
			for _, e := range inputs {
				place := int(e.Position&^Again) - first
				if !bytes.Equal(wire.View(back[int(e.Input)*n:][:n]), wire.View(want[place*n:][:n])) {
					t.Fatalf("level %d: input %d has another row than place %d", on, e.Input, place)
				}
			}
		}
	})
}

// An index that does not fit panics and writes nothing outside, whether there are more inputs or more places.
func TestScatterOutside(t *testing.T) {
	const n = 16
	for _, c := range []struct{ rows, places int }{{4, 4}, {9, 4}, {4, 9}} {
		for _, bad := range []Input{{Input: uint32(c.rows)}, {Position: uint32(c.places)}, {Input: 1 << 31}, {Position: 1<<31 - 1}} {
			for on := plain; on <= machine; on++ {
				rows, places := make([]float32, 2*c.rows*n), make([]float32, 2*c.places*n)
				for name, move := range map[string]func(){
					"scatter": func() {
						scatterInputsOn(on, wire.View(rows[:c.rows*n]), wire.View(places[:c.places*n]), 4*n, []Input{{}, bad}, 0)
					},
					"sum": func() { sumInputsOn(on, places[:c.places*n], rows[:c.rows*n], n, []Input{{}, bad}, 0) },
				} {
					if !panics(move) {
						t.Errorf("level %d: %s of %+v of %+v did not panic", on, name, bad, c)
					}
				}
				if slices.Max(rows[c.rows*n:]) != 0 || slices.Max(places[c.places*n:]) != 0 {
					t.Errorf("level %d: %+v of %+v was written to", on, bad, c)
				}
			}
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
