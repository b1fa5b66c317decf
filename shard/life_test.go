package shard_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/shard"
	"thole.example/wire"
)

// lives is a matrix whose columns are admitted and expire, as maps: what matrix.Keep says, word by word.
type lives struct {
	m     matrix.Meta
	init  func(row, col int64) float64
	cols  map[int64]*livingColumn
	named map[int64]*counted
	t     int64
	fate  shard.Fate
	most  int // columns of a bucket, if there is a budget
	bits  int // that choose one
}

// tenant is how long nothing has named a column that is there, or that is counted.
type tenant struct {
	last int64
	rank int
}

// livingColumn has the values of a column and the counts of the rule "step".
type livingColumn struct {
	w, slot []float64
	tenant
}

type counted struct {
	n int64
	tenant
}

// column is the column, made if it is not there.
func (l *lives) column(key int64) *livingColumn {
	c := l.cols[key]
	if c == nil {
		c = &livingColumn{w: make([]float64, l.m.Rows), slot: make([]float64, l.m.Rows), tenant: tenant{l.t, l.top(l.m.Keep.ExpireAfter)}}
		for r := range c.w {
			c.w[r] = l.init(int64(r), key)
		}
		l.cols[key] = c
		delete(l.named, key)
	}
	return c
}

// admits counts that a step names a column, and reports whether it is there or to be made.
func (l *lives) admits(key int64) bool {
	if l.cols[key] != nil || l.m.Keep.AdmitAfter < 2 {
		return true
	}
	c := l.named[key]
	if c == nil {
		return false
	}
	c.n, c.tenant = min(c.n+1, l.m.Keep.AdmitAfter), tenant{l.t, l.top(l.m.Keep.ForgetAfter)}
	if c.n < l.m.Keep.AdmitAfter {
		l.fate.Refused++
		return false
	}
	return true
}

// turn reports whether a column is looked at after this step.
func (l *lives) turn(key, after int64) bool {
	bits := matrix.TurnBits(after)
	return kernel.Hash(uint64(key))>>(64-bits) == uint64(l.t)%(1<<bits)
}

// apply is a step with sums of gradients by column.
func (l *lives) apply(sums map[int64][]float64) {
	l.t++
	var come, first []int64
	for key := range sums {
		switch c := l.cols[key]; {
		case c != nil:
			c.tenant = tenant{l.t, l.top(l.m.Keep.ExpireAfter)}
		case l.admits(key):
			come = append(come, key)
		case l.named[key] == nil:
			first = append(first, key)
		}
	}
	refused := l.room(l.tenants(), l.top(l.m.Keep.ExpireAfter), come, func(key int64) {
		delete(l.cols, key)
		l.fate.Evicted++
	})
	l.fate.Refused += int64(len(refused) + len(first))
	for _, key := range come {
		if !slices.Contains(refused, key) {
			if l.column(key); l.m.Keep.AdmitAfter > 1 {
				l.fate.Admitted++
			}
		}
	}
	refused = l.room(l.waiting(), l.top(l.m.Keep.ForgetAfter), first, func(key int64) { delete(l.named, key) })
	for _, key := range first {
		if !slices.Contains(refused, key) {
			l.named[key] = &counted{1, tenant{l.t, l.top(l.m.Keep.ForgetAfter)}}
		}
	}
	for key, g := range sums {
		c := l.cols[key]
		if c == nil {
			continue
		}
		for r := range c.w {
			c.slot[r]++
			c.w[r] -= 0.5*g[r] + c.slot[r] + float64(l.t)
		}
	}
	for key, c := range l.cols {
		if after := l.m.Keep.ExpireAfter; after > 0 && l.since(c.last, after) >= after && l.turn(key, after) {
			delete(l.cols, key)
			l.fate.Expired++
		}
	}
	for key, c := range l.named {
		if after := l.m.Keep.ForgetAfter; after > 0 && l.since(c.last, after) >= after && l.turn(key, after) {
			delete(l.named, key)
		}
	}
}

// since is how many steps at least have gone by since the one that named a column last: its epoch is known.
func (l *lives) since(last, after int64) int64 {
	_, shift := matrix.Epochs(after, l.most > 0)
	return l.t - ((last>>shift+1)<<shift - 1)
}

// top is the highest rank, where columns go after some steps: as many are told apart as there are stamps left.
func (l *lives) top(after int64) int {
	switch {
	case l.most == 0:
		return 0
	case after > 0:
		return 7
	}
	return 63
}

func (l *lives) tenants() map[int64]*tenant {
	all := map[int64]*tenant{}
	for key, c := range l.cols {
		all[key] = &c.tenant
	}
	return all
}

// cutLives is the partitions of the matrix: by some bits of the hash, or by columns; of finds the one of a key.
func cutLives(t *rapid.T, m *matrix.Meta) (all []*shard.Shard, of func(key int64) int) {
	add := func(at matrix.Rect, bits int) {
		s, err := shard.New(m, at, bits, &step)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if m.Keep.MaxBytes == 0 && rapid.Bool().Draw(t, "by columns") {
		mid := m.ColLo + rapid.Int64Range(0, m.Cols).Draw(t, "middle")
		add(matrix.At(0, m.Rows, m.ColLo, mid), 0)
		add(matrix.At(0, m.Rows, mid, m.ColLo+m.Cols), 0)
		return all, func(key int64) int {
			if key < mid {
				return 0
			}
			return 1
		}
	}
	bits := rapid.IntRange(0, 5).Draw(t, "bits")
	for range 1 << bits {
		add(m.Rect(), bits)
	}
	return all, func(key int64) int { return int(kernel.Hash(uint64(key)) >> (64 - bits)) }
}

// livesModel compares partitions with the maps.
type livesModel struct {
	lives
	all   []*shard.Shard
	of    func(key int64) int
	pool  []int64         // columns
	marks [][]*shard.Mark // of partitions: writes beside them change nothing
}

func newLivesModel(t *rapid.T) *livesModel {
	steps := rapid.SampledFrom([]int64{0, 1, 2, 3, 8, 20})
	x := &livesModel{}
	x.m = matrix.Meta{
		Name: "m", Rows: rapid.Int64Range(1, 3).Draw(t, "rows"), Cols: rapid.Int64Range(1, 400).Draw(t, "cols"), ColLo: -7,
		DType: matrix.F64, Layout: matrix.RowSparse, Init: rapid.SampledFrom([]matrix.Init{{}, {Kind: "uniform", Scale: 2, Seed: 9}}).Draw(t, "init"),
		Keep: matrix.Keep{AdmitAfter: rapid.SampledFrom([]int64{0, 1, 2, 3}).Draw(t, "admit"), ExpireAfter: steps.Draw(t, "expire")},
	}
	if x.m.Keep.Admits() {
		x.m.Keep.ForgetAfter = steps.Draw(t, "forget")
	}
	draw := matrix.NewDraw(x.m.Init.Seed, x.m.Name)
	x.init = func(row, col int64) float64 {
		if x.m.Init.Kind == "" {
			return 0
		}
		return x.m.Init.Cell(draw, row, col)
	}
	for key := x.m.ColLo; key < x.m.ColLo+x.m.Cols; key++ {
		x.pool = append(x.pool, key)
	}
	if rapid.IntRange(0, 2).Draw(t, "budget") == 0 {
		x.budget(t)
	}
	x.cols, x.named = map[int64]*livingColumn{}, map[int64]*counted{}
	x.all, x.of = cutLives(t, &x.m)
	return x
}

func (x *livesModel) must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// somes draws keys of the matrix, none twice, in any order.
func (x *livesModel) somes(t *rapid.T) []int64 {
	gap := rapid.Int64Range(1, 60).Draw(t, "gap")
	keys := []int64{}
	for i := rapid.Int64Range(0, 20).Draw(t, "first"); i < int64(len(x.pool)); i += gap {
		keys = append(keys, x.pool[i])
	}
	return rapid.Permutation(keys).Draw(t, "order")
}

// Apply is a step with up to three gradients, some for a part of the rows.
func (x *livesModel) Apply(t *rapid.T) {
	sums, work := map[int64][]float64{}, make([][]shard.Delta, len(x.all))
	for range rapid.IntRange(0, 3).Draw(t, "gradients") {
		rows := matrix.Range{Hi: x.m.Rows}
		if rapid.IntRange(0, 2).Draw(t, "part of rows") == 0 {
			rows.Lo = rapid.Int64Range(0, x.m.Rows-1).Draw(t, "row")
		}
		keys, vals := make([][]int64, len(x.all)), make([][]float64, len(x.all))
		for _, key := range x.somes(t) {
			if sums[key] == nil {
				sums[key] = make([]float64, x.m.Rows)
			}
			to := x.of(key)
			keys[to] = append(keys[to], key)
			for r := rows.Lo; r < rows.Hi; r++ {
				v := float64((key%1000*7+r*3+x.t)%10 - 4)
				vals[to] = append(vals[to], v)
				sums[key][r] += v
			}
		}
		for i := range x.all {
			if keys[i] != nil {
				work[i] = append(work[i], shard.Delta{Rows: rows, Cols: x.all[i].At().Cols, Keys: keys[i], Values: wire.View(vals[i])})
			}
		}
	}
	for i, s := range x.all {
		x.must(t, s.Apply(work[i], 1, 0.5))
	}
	x.apply(sums)
}

// Set sets columns: they are made, whatever was named.
func (x *livesModel) Set(t *rapid.T) {
	keys := x.somes(t)
	for _, key := range keys[:min(1, len(keys))] {
		val, s := make([]float64, x.m.Rows), x.all[x.of(key)]
		for r := range val {
			val[r] = float64(key%1000 + int64(r))
		}
		err := s.Set(shard.Delta{Rows: s.At().Rows, Cols: s.At().Cols, Keys: []int64{key}, Values: wire.View(val)})
		if x.cols[key] == nil {
			if refused := x.room(x.tenants(), x.top(x.m.Keep.ExpireAfter), []int64{key}, func(key int64) {
				delete(x.cols, key)
				x.fate.Evicted++
			}); len(refused) > 0 {
				if err == nil || !strings.Contains(err.Error(), "no room for column") {
					t.Fatalf("column %d is set in a full bucket: %v", key, err)
				}
				continue
			}
		}
		x.must(t, err)
		copy(x.column(key).w, val)
	}
}

// Mark keeps marks for some time, so that rows are copied and none is used again.
func (x *livesModel) Mark(t *rapid.T) {
	if len(x.marks) > 1 {
		for _, m := range x.marks[0] {
			m.Close()
		}
		x.marks = x.marks[1:]
	}
	var some []*shard.Mark
	for _, s := range x.all {
		some = append(some, s.Mark())
	}
	x.marks = append(x.marks, some)
}

// Restore goes on with other partitions, which were filled from marks of these while these went on.
func (x *livesModel) Restore(t *rapid.T) {
	var marks []*shard.Mark
	for _, s := range x.all {
		marks = append(marks, s.Mark())
	}
	before := x.copy()
	x.Apply(t)
	x.Set(t)
	old := x.all
	x.lives = before
	x.all, x.of = cutLives(t, &x.m)
	x.fate, x.marks = shard.Fate{}, nil
	band := rapid.IntRange(1, 40).Draw(t, "band")
	for _, s := range x.all {
		s.SetSteps(x.t)
		x.must(t, s.Reserve(int64(len(x.cols))))
		x.must(t, s.ReserveCandidates(int64(len(x.named))))
	}
	for i, m := range marks {
		if m.Steps() != x.t || m.Aged() != (x.m.Keep.ExpireAfter > 0) || m.Ranked() != (x.most > 0) {
			t.Fatalf("a mark after %d steps, aged: %v, ranked: %v", m.Steps(), m.Aged(), m.Ranked())
		}
		width := int(x.m.Rows) * 2
		for keys := m.Keys(band); len(keys) > 0; keys = m.Keys(band) {
			val := make([]float64, len(keys)*width)
			ages, err := m.ReadState(wire.View(val), keys)
			x.must(t, err)
			for j, key := range keys {
				to := x.all[x.of(key)]
				x.must(t, to.RestoreColumns(to.At().Rows, []int64{key}, wire.View(val[j*width:][:width])))
				one := shard.Ages{}
				if m.Aged() {
					one.Last = ages.Last[j:][:1]
					if want := x.epoch(x.cols[key].last, x.m.Keep.ExpireAfter); one.Last[0] != want {
						t.Fatalf("column %d was named in step %d or after, want %d", key, one.Last[0], want)
					}
				}
				if m.Ranked() {
					if one.Ranks = ages.Ranks[j:][:1]; int(one.Ranks[0]) != x.cols[key].rank {
						t.Fatalf("column %d has rank %d, want %d", key, one.Ranks[0], x.cols[key].rank)
					}
				}
				x.must(t, to.RestoreAges([]int64{key}, one))
			}
		}
		for {
			some, err := m.Candidates(band)
			x.must(t, err)
			if len(some) == 0 {
				break
			}
			for _, c := range some {
				if want := x.named[c.Key]; want == nil || c.Count != want.n || c.Last != want.last || x.most > 0 && int(c.Rank) != want.rank {
					t.Fatalf("candidate %+v, want %+v", c, want)
				}
				x.must(t, x.all[x.of(c.Key)].RestoreCandidates([]shard.Candidate{c}))
			}
		}
		m.Close()
		old[i].Close()
	}
}

func (l *lives) copy() lives {
	c := *l
	c.cols, c.named = map[int64]*livingColumn{}, map[int64]*counted{}
	for key, v := range l.cols {
		c.cols[key] = &livingColumn{slices.Clone(v.w), slices.Clone(v.slot), v.tenant}
	}
	for key, v := range l.named {
		n := *v
		c.named[key] = &n
	}
	return c
}

// Check reads all columns: those that are not there are as they were in the beginning.
func (x *livesModel) Check(t *rapid.T) {
	var fate shard.Fate
	columns := 0
	for _, s := range x.all {
		f := s.Fate()
		fate.Admitted, fate.Refused, fate.Expired = fate.Admitted+f.Admitted, fate.Refused+f.Refused, fate.Expired+f.Expired
		fate.Waiting, fate.Evicted = fate.Waiting+f.Waiting, fate.Evicted+f.Evicted
		columns += s.Columns()
	}
	want := x.fate
	want.Waiting = int64(len(x.named))
	if fate != want || columns != len(x.cols) {
		t.Fatalf("after step %d: %+v with %d columns, want %+v with %d", x.t, fate, columns, want, len(x.cols))
	}
	got := make([]float64, x.m.Rows)
	for _, key := range x.pool {
		s := x.all[x.of(key)]
		x.must(t, s.Read(wire.View(got), s.At().Rows, []int64{key}))
		for r, v := range got {
			want := x.init(int64(r), key)
			if c := x.cols[key]; c != nil {
				want = c.w[r]
			}
			if v != want {
				t.Fatalf("after step %d: cell (%d,%d) is %v, want %v (%v)", x.t, r, key, v, want, x.cols[key])
			}
		}
	}
}

// TestLives: columns are made, removed and restored as the maps say, however the matrix is cut.
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newLivesModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"apply": x.Apply, "apply again": x.Apply, "set": x.Set, "mark": x.Mark, "restore": x.Restore, "": x.Check,
		})
	})
}

// TestLivesWhileGrowing: many columns of a batch are new while the index moves, so that some that are there seem not to be.
func TestLivesWhileGrowing(t *testing.T) {
	rule, err := optim.Find(nil, "sgd")
	if err != nil {
		t.Fatal(err)
	}
	m := matrix.Meta{Name: "m", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "sgd", Keep: matrix.Keep{AdmitAfter: 2}}
	s, err := shard.New(&m, m.Rect(), 0, rule)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n, batch = 40000, 1000
	var keys []int64
	val := make([]float32, 4*batch)
	for at := range n / batch {
		for i := range int64(batch) {
			keys = append(keys, int64(at)*batch+i)
		}
		now := slices.Clone(keys[max(0, len(keys)-2*batch):]) // the younger half is named for the first time
		for i := range now {                                  // beside columns that are there already
			if i%2 == 0 && at > 2 {
				now[i] -= batch
			}
		}
		slices.Sort(now)
		now = slices.Compact(now)
		d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: now, Values: wire.View(val[:len(now)])}
		if err := s.Apply([]shard.Delta{d}, 1, 1); err != nil {
			t.Fatal(err)
		}
		f := s.Fate()
		if f.Admitted != int64(s.Columns()) || s.Columns()+int(f.Waiting) > len(keys) || s.Missing(now) > int(f.Waiting) {
			t.Fatalf("after %d keys: %+v with %d columns, %d missing", len(keys), f, s.Columns(), s.Missing(now))
		}
	}
}

// TestKeepRefused: settings that cannot be are refused, with what is wanted.
func TestKeepRefused(t *testing.T) {
	sparse := matrix.Meta{Name: "m", Rows: 1, Cols: 9, DType: matrix.F64, Layout: matrix.RowSparse, Keep: matrix.Keep{AdmitAfter: 2}}
	dense := sparse
	dense.Layout = matrix.RowDense
	for _, c := range []struct {
		err  error
		want string
	}{
		{shard.Check(&sparse, nil), "by steps of a rule, want one"},
		{shard.Check(&dense, &step), "want a sparse one"},
		{shard.Check(&sparse, &step), ""},
		{matrix.Keep{AdmitAfter: -1}.Check(), "admit after -1 steps, want 0 to 2^30"},
		{matrix.Keep{ExpireAfter: 1<<30 + 1}.Check(), "expire after 1073741825 steps, want 0 to 2^30"},
		{matrix.Keep{ForgetAfter: 5}.Check(), "want it with admission after 2 or more"},
		{matrix.Keep{AdmitAfter: 2, ForgetAfter: 5, ExpireAfter: 1 << 30}.Check(), ""},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}
