package train

// mix is the task's examples of an epoch, or of a window of one, in the order in which they are taken: as they are, or with a number of
// positives for each negative in such turns of both that every stretch of them has about as many of each as asked for. Of those of
// which there are too few some come again, of the others some do not come in this epoch. A task that has none of one kind takes all
// of the other.
func mix(rows []int, label []float32, posNeg float64) []int {
	if posNeg <= 0 {
		return rows
	}
	var pools [2][]int // negatives, positives
	for _, row := range rows {
		kind := 0
		if label[row] > 0 {
			kind = 1
		}
		pools[kind] = append(pools[kind], row)
	}
	if len(pools[0]) == 0 || len(pools[1]) == 0 {
		return rows
	}
	share := posNeg / (1 + posNeg) // of positives
	order, next := make([]int, len(rows)), [2]int{}
	for i := range order {
		kind := int(float64(i+1)*share) - int(float64(i)*share)
		pool := pools[kind]
		order[i] = pool[next[kind]%len(pool)]
		next[kind]++
	}
	return order
}
