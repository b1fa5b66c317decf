package kernel

import (
	"fmt"
	"math"
	"testing"
)

// The first numbers from state 1234567, as the authors' program gives them.
func TestSplitMix(t *testing.T) {
	s := SplitMix(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		at := SplitMix(1234567).Skip(i)
		if got := s.Next(); got != want || at.Next() != want {
			t.Errorf("number %d is %d, want %d", i, got, want)
		}
	}
}

// Every implementation drops the same numbers, about as many as asked for, also in parts.
func TestDrop(t *testing.T) {
	for on := plain; on <= machine; on++ {
		for _, n := range append(around, 10_000) {
			const seed, limit, scale = 77, 1 << 30, 4.0 / 3
			v := random[float32](n)
			want, dropped := clone(v), 0
			for i := range want {
				state := SplitMix(seed).Skip(i)
				if want[i] *= scale; state.Next() < limit<<32 {
					want[i] = 0
					dropped++
				}
			}
			got, parts := clone(v), clone(v)
			drop(on, got, seed, limit, scale)
			sameBits(t, fmt.Sprintf("level %d", on), got, want)
			cut := n / 3
			drop(on, parts[:cut], seed, limit, scale)
			drop(on, parts[cut:], SplitMix(seed).Skip(cut), limit, scale)
			sameBits(t, fmt.Sprintf("level %d in parts", on), parts, want)
			if spread := math.Sqrt(float64(n) * 3 / 16); math.Abs(float64(dropped)-float64(n)/4) > 4*spread {
				t.Errorf("%d of %d dropped, want about a quarter", dropped, n)
			}
			all := clone(v)
			drop(on, all, seed, 0, 1)
			sameBits(t, "nothing dropped", all, v)
		}
	}
}

func BenchmarkDrop(b *testing.B) {
	v := random[float32](1 << 13)
	for on := plain; on <= machine; on++ {
		b.Run(fmt.Sprint(on), func(b *testing.B) {
			b.SetBytes(4 << 13)
			for b.Loop() {
				drop(on, v, 1, 1<<31, 1)
			}
		})
	}
}
