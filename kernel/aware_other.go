//go:build !amd64

package kernel

func awareDotsOn(_ level, v []float32, n int, a *Aware) float32 { return awareDots(v, n, a) }

func awareDotsGradOn(_ level, dv, v []float32, n int, a *Aware, g float32) {
	awareDotsGrad(dv, v, n, a, g)
}
