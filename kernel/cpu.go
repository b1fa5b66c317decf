package kernel

// level is what the machine's vector instructions can do.
type level int

const (
	plain level = iota // pure Go
	avx2
	avx512
)

// machine is the level in use, set once and never changed.
var machine = bestLevel()
