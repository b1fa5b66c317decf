//go:build !amd64

package kernel

const leavesFast = false

func leavesOn(_ level, leaf *[LeafRows]uint8, all []Split, columns []int32, reach *Reach) {
	leaves(leaf, all, columns, reach)
}
