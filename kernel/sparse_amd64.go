package kernel

// fastSparse are the tables with assembly, the best first.
func fastSparse() []sparseTable {
	if machine == plain {
		return nil
	}
	all := []sparseTable{
		{"avx512", func(n int) bool { return n > 8 }, [sparseKernels]func(*sparseCall){
			embed512, embedGrad512, axpyRows512, linear512, linearGrad512,
			interact512, interactGrad512, interactSum512, interactSumGrad512,
			dotFast, dotGradFast,
		}},
		{"avx512 short", func(n int) bool { return n <= 8 }, [sparseKernels]func(*sparseCall){
			embed512Short, embedGrad512Short, axpyRows512Short, linear512Short, linearGrad512Short,
			interact512Short, interactGrad512Short, interactSum512Short, interactSumGrad512Short,
			dotFast, dotGradFast,
		}},
		{"avx2", func(n int) bool { return n%8 == 0 }, [sparseKernels]func(*sparseCall){
			embedAVX2, embedGradAVX2, axpyRowsAVX2, linearAVX2, linearGradAVX2,
			interactAVX2, interactGradAVX2, interactSumAVX2, interactSumGradAVX2,
			dotFast, dotGradFast,
		}},
	}
	if machine != avx512 {
		all = all[2:]
	}
	return all
}

// largestOn is largest.
func largestOn(on level, at []uint32) uint32 {
	n := len(at) &^ 31
	if on == plain || n == 0 {
		return largest(at)
	}
	return max(largestAVX2(&at[0], n), largest(at[n:]))
}

// largestAVX2 is the largest of n numbers, a multiple of 32 and not 0.
//
//go:noescape
func largestAVX2(at *uint32, n int) uint32

//go:noescape
func dotFast(c *sparseCall)

//go:noescape
func dotGradFast(c *sparseCall)

//go:noescape
func embed512(c *sparseCall)

//go:noescape
func embedGrad512(c *sparseCall)

//go:noescape
func axpyRows512(c *sparseCall)

//go:noescape
func linear512(c *sparseCall)

//go:noescape
func linearGrad512(c *sparseCall)

//go:noescape
func interact512(c *sparseCall)

//go:noescape
func interactGrad512(c *sparseCall)

//go:noescape
func interactSum512(c *sparseCall)

//go:noescape
func interactSumGrad512(c *sparseCall)

//go:noescape
func embed512Short(c *sparseCall)

//go:noescape
func embedGrad512Short(c *sparseCall)

//go:noescape
func axpyRows512Short(c *sparseCall)

//go:noescape
func linear512Short(c *sparseCall)

//go:noescape
func linearGrad512Short(c *sparseCall)

//go:noescape
func interact512Short(c *sparseCall)

//go:noescape
func interactGrad512Short(c *sparseCall)

//go:noescape
func interactSum512Short(c *sparseCall)

//go:noescape
func interactSumGrad512Short(c *sparseCall)

//go:noescape
func embedAVX2(c *sparseCall)

//go:noescape
func embedGradAVX2(c *sparseCall)

//go:noescape
func axpyRowsAVX2(c *sparseCall)

//go:noescape
func linearAVX2(c *sparseCall)

//go:noescape
func linearGradAVX2(c *sparseCall)

//go:noescape
func interactAVX2(c *sparseCall)

//go:noescape
func interactGradAVX2(c *sparseCall)

//go:noescape
func interactSumAVX2(c *sparseCall)

//go:noescape
func interactSumGradAVX2(c *sparseCall)
