package gbdt

import (
	"cmp"
	"context"
	"slices"

	"thole.example/kernel"
	"thole.example/tree"
)

// Features of which most rows mention nothing share groups: those that no row mentions together, as the levels of a field that was
// written as one column each. (G. Ke et al., LightGBM, NIPS 2017, section 4, with no conflicts allowed; sums of whole numbers make a
// histogram with bundles the same as one without, to the bit.)

// sparseShare is the share of the rows that mention a feature up to which it is put with others.
const sparseShare = 0.5

// sampleRows is how many rows groups are tried on before all rows are looked at.
const sampleRows = 1 << 15

// tryGroups is how many groups with room are tried for a feature.
const tryGroups = 128

// bundle puts the columns into groups, and lays the groups out.
func (b *Layout) bundle(ctx context.Context, rows, held Rows, s *surveyed) error {
	var sparse []int
	for i := range b.columns {
		c := &b.columns[i]
		if c.alone = s.lacks[s.of(c)] || float64(s.mentions(c)) > sparseShare*float64(s.rows); !c.alone {
			sparse = append(sparse, i)
		}
	}
	// The more rows mention a feature, the fewer groups have room for it.
	weight := func(i int) int { return s.mentions(&b.columns[i]) }
	slices.SortStableFunc(sparse, func(i, j int) int { return cmp.Compare(weight(j), weight(i)) })
	bundles, err := exclusive(ctx, rows, held, b.columns, b.index, sparse)
	if err != nil {
		return err
	}
	for i := range b.columns {
		if b.columns[i].alone {
			bundles = append(bundles, []int{i})
		}
	}
	b.layout(bundles)
	return nil
}

// layout gives the groups their places: those of one byte first.
func (b *Layout) layout(bundles [][]int) {
	for _, bundle := range bundles {
		slices.Sort(bundle)
	}
	slices.SortFunc(bundles, func(x, y []int) int { return cmp.Compare(x[0], y[0]) })
	codes := make([]int, len(bundles))
	for i, bundle := range bundles {
		if len(bundle) == 1 { // with a code for each bin
			b.columns[bundle[0]].alone = true
			codes[i] = b.columns[bundle[0]].all()
			continue
		}
		codes[i] = 1
		for _, at := range bundle {
			b.columns[at].first = codes[i]
			codes[i] += b.columns[at].all() - 1
		}
	}
	k := &b.shape
	for _, wide := range []bool{false, true} {
		for i, bundle := range bundles {
			if codes[i] > narrowCodes != wide {
				continue
			}
			g := group{wide: wide, cell: b.cells, codes: codes[i]}
			if b.cells += codes[i]; wide {
				g.at = k.WideAt() + 2*len(k.Wide)
				k.Wide, k.Stride = append(k.Wide, uint32(g.cell)), g.at+2
			} else {
				g.at = len(k.Narrow)
				k.Narrow, k.Stride = append(k.Narrow, uint32(g.cell)), g.at+1
			}
			for _, at := range bundle {
				b.columns[at].group = len(b.groups)
			}
			b.groups = append(b.groups, g)
		}
	}
}

// exclusive puts the sparse columns into bundles of which no row mentions two: first by some rows, then by all; those that turn out
// to be mentioned together are tried again among themselves.
func exclusive(ctx context.Context, rows, held Rows, columns []column, of *tree.Numbering, sparse []int) (bundles [][]int, err error) {
	for left := sparse; len(left) > 0; {
		found, err := bySample(ctx, rows, columns, of, left)
		if err != nil {
			return nil, err
		}
		bundle := make([]int32, len(columns)) // 1 + the number of the bundle
		for i, members := range found {
			for _, at := range members {
				bundle[at] = int32(i) + 1
			}
		}
		out := make([]bool, len(columns))
		for _, all := range []Rows{rows, held} {
			if err := conflicts(ctx, all, of, bundle, len(found), out); err != nil {
				return nil, err
			}
		}
		before := len(left)
		left = left[:0:0]
		for _, members := range found {
			var stay []int
			for _, at := range members {
				if out[at] {
					left = append(left, at)
				} else {
					stay = append(stay, at)
				}
			}
			if len(stay) > 0 {
				bundles = append(bundles, stay)
			}
		}
		if len(left) == before { // of no use: each by itself
			for _, at := range left {
				bundles = append(bundles, []int{at})
			}
			break
		}
	}
	return bundles, nil
}

// conflicts marks the columns that some row mentions beside another one of their bundle.
func conflicts(ctx context.Context, rows Rows, of *tree.Numbering, bundle []int32, bundles int, out []bool) error {
	if rows == nil {
		return nil
	}
	seen := make([]int, bundles)
	var b Block
	for lo := 0; lo < rows.Len(); lo += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.Reset()
		rows.Read(lo, min(lo+blockRows, rows.Len()), &b)
		for i := range len(b.Ptr) - 1 {
			for at := b.Ptr[i]; at < b.Ptr[i+1]; at++ {
				c := of.Of(int(b.Feature[at]))
				if c < 0 || bundle[c] == 0 || b.Value[at] == 0 {
					continue
				}
				if s := &seen[bundle[c]-1]; *s == lo+i+1 {
					out[c] = true
				} else {
					*s = lo + i + 1
				}
			}
		}
	}
	return nil
}

// bySample puts columns into bundles by some of the rows.
func bySample(ctx context.Context, rows Rows, columns []column, of *tree.Numbering, left []int) ([][]int, error) {
	place := make([]int32, len(columns))
	for i, at := range left {
		place[at] = int32(i) + 1
	}
	in := make([][]int32, len(left)) // rows of the sample that mention the column
	n := min(rows.Len(), sampleRows)
	var b Block
	for taken := 0; taken < n; taken += blockRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// Blocks from all over, as what is written together may be alike.
		block := taken / blockRows * spans(rows.Len()) / spans(n)
		lo := block * blockRows
		b.Reset()
		rows.Read(lo, min(lo+blockRows, rows.Len()), &b)
		for i := range len(b.Ptr) - 1 {
			for at := b.Ptr[i]; at < b.Ptr[i+1]; at++ {
				if c := of.Of(int(b.Feature[at])); c >= 0 && place[c] > 0 && b.Value[at] != 0 {
					in[place[c]-1] = append(in[place[c]-1], int32(taken+i))
				}
			}
		}
	}
	type bundle struct {
		members []int
		codes   int
		rows    []uint64 // a bit for each of the sample
	}
	var all []bundle
	open := []int{} // with room
	for i, at := range left {
		codes, to := columns[at].all()-1, -1
		for _, j := range open {
			if all[j].codes+codes <= wideCodes && !slices.ContainsFunc(in[i], func(r int32) bool { return all[j].rows[r>>6]>>(r&63)&1 != 0 }) {
				to = j
				break
			}
		}
		if to < 0 {
			to = len(all)
			all = append(all, bundle{codes: 1, rows: make([]uint64, (n+blockRows)/64+1)})
			open = append(open, to)
			if len(open) > tryGroups { // one of them goes, which one is a matter of its number alone
				gone := int(kernel.Hash(uint64(to)) % uint64(len(open)-1))
				open = slices.Delete(open, gone, gone+1)
			}
		}
		all[to].members, all[to].codes = append(all[to].members, at), all[to].codes+codes
		for _, r := range in[i] {
			all[to].rows[r>>6] |= 1 << (r & 63)
		}
	}
	bundles := make([][]int, len(all))
	for i := range all {
		bundles[i] = all[i].members
	}
	return bundles, nil
}
