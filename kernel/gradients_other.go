//go:build !amd64

package kernel

func sumGradientsOn(_ level, _ []GradientSum, _ *Codes, rows []uint32, _ []Gradient) []uint32 {
	return rows
}
