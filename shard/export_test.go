package shard

import "thole.example/matrix"

// Quota is how many columns each bucket of a matrix with a budget may have, and how many bits choose one.
func Quota(m *matrix.Meta, slots int) (most, bits int) {
	q, err := newQuotas(m, slots)
	if err != nil || q == nil {
		return 0, 0
	}
	return q.of[0].most, q.bits
}
