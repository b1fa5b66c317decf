package kernel

func awareDotsOn(on level, v []float32, n int, a *Aware) float32 {
	if on == plain || n%4 != 0 || len(a.Row) < 2 {
		return awareDots(v, n, a)
	}
	var s [4]float32
	awareDotsAVX(&v[0], &a.Row[0], &a.Field[0], &a.X[0], len(a.Row), n, &s)
	return (s[0] + s[2]) + (s[1] + s[3])
}

func awareDotsGradOn(on level, dv, v []float32, n int, a *Aware, g float32) {
	if on == plain || n%4 != 0 || len(a.Row) < 2 {
		awareDotsGrad(dv, v, n, a, g)
		return
	}
	awareDotsGradAVX(&dv[0], &v[0], &a.Row[0], &a.Field[0], &a.X[0], len(a.Row), n, g)
}

//go:noescape
func awareDotsAVX(v *float32, row, field *int, x *float32, values, n int, s *[4]float32)

//go:noescape
func awareDotsGradAVX(dv, v *float32, row, field *int, x *float32, values, n int, slope float32)
