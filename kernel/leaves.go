package kernel

// LeafRows is how many rows come to their leaves at a time.
const LeafRows = 64

// leafLimit is how many leaves a tree may have, as their numbers are bytes.
const leafLimit = 256

// Split is an inner node of a tree: of a row it goes left if the key in its column is at most that of the node. Children are inner
// nodes, which come after their parent, or of n nodes the leaf i as n+i.
type Split struct {
	Key         int32
	Column      uint32
	Left, Right uint32
}

// Splits are the inner nodes of a tree, the root first, that were checked. They are not changed.
type Splits struct {
	all     []Split
	columns int
}

// NewSplits checks the nodes of a tree over so many columns, which it keeps, and reports false if they are none: parents stand
// before their children, which are others, and there are at most 255.
func NewSplits(all []Split, columns int) (Splits, bool) {
	n := len(all)
	if n >= leafLimit {
		return Splits{}, false
	}
	var has [2 * leafLimit]bool
	for i, s := range all {
		if int64(s.Column) >= int64(columns) {
			return Splits{}, false
		}
		for _, child := range [2]uint32{s.Left, s.Right} {
			if int64(child) <= int64(i) || int64(child) > int64(2*n) || has[child] {
				return Splits{}, false
			}
			has[child] = true
		}
	}
	return Splits{all, columns}, true
}

// Reach is memory for [Splits.Leaves]: the rows that come to each node and leaf, as bits.
type Reach [2 * leafLimit]uint64

// Leaves finds the leaves of LeafRows rows: keys of a column stand beside each other, and one column after the other.
//
// It compares all nodes with all rows, which costs as many steps as there are nodes; but a vector does that of sixteen rows in a step,
// without jumps and without places in memory that depend on what was found before.
func (s Splits) Leaves(leaf *[LeafRows]uint8, columns []int32, reach *Reach) {
	_ = columns[:s.columns*LeafRows]
	if len(s.all) == 0 {
		clear(leaf[:])
		return
	}
	reach[0] = 1<<64 - 1
	leavesOn(machine, leaf, s.all, columns, reach)
}

// LeavesFast reports whether Leaves is in assembly here. If not, it is slower than a walk from node to node.
func LeavesFast() bool { return leavesFast }

func leaves(leaf *[LeafRows]uint8, all []Split, columns []int32, reach *Reach) {
	for i, s := range all {
		left := uint64(0)
		for r, key := range columns[s.Column*LeafRows : s.Column*LeafRows+LeafRows] {
			if key <= s.Key {
				left |= 1 << r
			}
		}
		reach[s.Left], reach[s.Right] = reach[i]&left, reach[i]&^left
	}
	for i := range len(all) + 1 {
		for r := range leaf {
			if reach[len(all)+i]>>r&1 != 0 {
				leaf[r] = uint8(i)
			}
		}
	}
}
