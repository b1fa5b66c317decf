package shard_test

import (
	"cmp"
	"slices"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/shard"
)

// budget gives the model's matrix a budget for few columns in a bucket, and columns of three buckets.
func (x *livesModel) budget(t *rapid.T) {
	x.m.Cols, x.pool = 1<<40, nil
	for want := rapid.IntRange(8, 20).Draw(t, "columns of a bucket"); x.most < want; x.m.Keep.MaxBytes += 4 << 10 {
		x.most, x.bits = shard.Quota(&x.m, step.Slots)
	}
	x.m.Keep.MaxBytes -= 4 << 10
	for key := x.m.ColLo; len(x.pool) < 100; key++ {
		if b := x.bucket(key); b == 0 || b == 77 || b == 255 {
			x.pool = append(x.pool, key)
		}
	}
}

func (l *lives) bucket(key int64) uint64 { return kernel.Hash(uint64(key)) >> (64 - l.bits) }

// epoch is the first step of that of a step.
func (l *lives) epoch(step, after int64) int64 {
	_, shift := matrix.Epochs(after, l.most > 0)
	return step >> shift << shift
}

func (l *lives) waiting() map[int64]*tenant {
	all := map[int64]*tenant{}
	for key, c := range l.named {
		all[key] = &c.tenant
	}
	return all
}

// room makes room for columns beside those that are there, and gives those that there is none for.
func (l *lives) room(there map[int64]*tenant, top int, come []int64, evict func(key int64)) (refused []int64) {
	if l.most == 0 {
		return nil
	}
	byHash := func(a, b int64) int { return cmp.Compare(kernel.Hash(uint64(a)), kernel.Hash(uint64(b))) }
	shares := map[uint64][]int64{}
	for _, key := range come {
		shares[l.bucket(key)] = append(shares[l.bucket(key)], key)
	}
	for bucket, some := range shares {
		var have, old []int64
		for key, c := range there {
			if l.bucket(key) == bucket {
				if have = append(have, key); c.rank < top {
					old = append(old, key)
				}
			}
		}
		free := l.most - len(have)
		if len(some) > free {
			slices.SortFunc(old, func(a, b int64) int { return cmp.Or(cmp.Compare(there[a].rank, there[b].rank), byHash(a, b)) })
			part := l.most / 32
			if top == 7 {
				part = l.most / 8
			}
			for _, key := range old[:min(len(old), max(len(some)-free, part))] {
				evict(key)
				free++
			}
			for _, key := range have {
				there[key].rank = max(0, there[key].rank-1)
			}
		}
		slices.SortFunc(some, byHash)
		refused = append(refused, some[min(len(some), free):]...)
	}
	return refused
}
