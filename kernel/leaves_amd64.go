package kernel

import "golang.org/x/sys/cpu"

// leavesFast: numbers of leaves are bytes, for which AVX-512 has an extension of its own.
var leavesFast = machine == avx512 && cpu.X86.HasAVX512BW && cpu.X86.HasBMI1

func leavesOn(on level, leaf *[LeafRows]uint8, all []Split, columns []int32, reach *Reach) {
	if on != avx512 || !leavesFast {
		leaves(leaf, all, columns, reach)
		return
	}
	leaves512(leaf, &all[0], len(all), &columns[0], reach)
}

// leaves512 does n nodes, at least one.
//
//go:noescape
func leaves512(leaf *[LeafRows]uint8, all *Split, n int, columns *int32, reach *Reach)
