package train

// mix is the task's examples of an epoch in the order in which they are taken: as they are in mine, or with Options.PosNeg in
// such turns of positives and negatives that every stretch of them has about as many of each as asked for. Of those of which
// there are too few some come again, of the others some do not come in this epoch. A task that has none of one kind takes all
// of the other.
func (l *loop) mix() []int {
	if l.PosNeg <= 0 {
		return l.mine
	}
	var pools [2][]int // negatives, positives
	for _, row := range l.mine {
		kind := 0
		if l.Data.Label[row] > 0 {
			kind = 1
		}
		pools[kind] = append(pools[kind], row)
	}
	if len(pools[0]) == 0 || len(pools[1]) == 0 {
		return l.mine
	}
	share := l.PosNeg / (1 + l.PosNeg) // of positives
	order, next := make([]int, len(l.mine)), [2]int{}
	for i := range order {
		kind := int(float64(i+1)*share) - int(float64(i)*share)
		pool := pools[kind]
		order[i] = pool[next[kind]%len(pool)]
		next[kind]++
	}
	return order
}
