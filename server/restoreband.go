package server

import (
	"context"
	"fmt"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/state"
	"thole.example/wire"
)

// band puts a band of a record into the partitions that it is of.
func (r *restoring) band(p *state.Partition, b state.Band) error {
	r.frames.Resize(max(r.frames.Bytes(), int64(bandSize(b))*state.Ahead))
	if b.Removed != nil {
		r.see(p, b.Removed)
		return nil
	}
	if slots := r.slots(); p.Slots != slots {
		return fmt.Errorf("matrix %q has %d slots in the checkpoint, its rule has %d: %w", p.Matrix, p.Slots, slots, rpc.ErrRefused)
	}
	switch {
	case b.Counts != nil && !r.last, b.Counts == nil && b.Values == nil && !r.last:
		return nil // each increment has these whole
	case b.Counts != nil:
		return r.candidates(b)
	case b.Rates != nil:
		return r.rates(p, b.Rates)
	case b.Values == nil:
		return r.absent(p)
	}
	if b.Keys == nil && r.st.meta.Layout == matrix.RowSparse {
		part, columns := columnsOf(p, b)
		values, size := wire.ViewAny(columns.Values[0].Data.Values())
		return r.columns(part, columns, values, int(part.Width())*size)
	}
	if b.Keys == nil {
		return r.cells(b)
	}
	values, size := wire.ViewAny(b.Values[0].Data.Values())
	return r.columns(p, b, values, int(p.Width())*size)
}

// rates are those of the last steps of a record's partition, on which its columns are still to catch up.
func (r *restoring) rates(p *state.Partition, rates []float64) (err error) {
	if r.past = r.known; r.past == nil || !r.past.Is(p.Steps, rates) {
		r.past, err = shard.NewPast(r.from, r.st.rule, p.Steps, rates)
	}
	switch {
	case err != nil:
	case r.past == nil:
		err = fmt.Errorf("matrix %q has columns that are behind in the checkpoint, and rule %s leaves none: %w",
			p.Matrix, r.from.Rule, rpc.ErrRefused)
	case r.known != nil && !r.known.Agrees(r.past):
		r.mixed = true
	case r.known == nil || len(r.known.Rates()) < len(rates):
		r.known = r.past
	}
	return err
}

// candidates puts columns that are not made into the partitions that they are of.
func (r *restoring) candidates(b state.Band) error {
	all := make([][]shard.Candidate, len(r.to))
	for i, key := range b.Keys {
		id := r.st.parts.Of(key) // there are no others above or below it, or nothing is to be admitted
		one := shard.Candidate{Key: key, Count: b.Counts[i], Last: b.Last[i]}
		if b.Ranks != nil {
			one.Rank = b.Ranks[i]
		}
		all[id] = append(all[id], one)
	}
	for id, some := range all {
		f := r.to[id]
		if f == nil || len(some) == 0 {
			continue
		}
		if err := f.with(func(s *shard.Shard) error { return s.RestoreCandidates(some) }); err != nil {
			return err
		}
		if err := r.count(f); err != nil {
			return err
		}
	}
	return nil
}

// absentFirst gives the partitions the values of columns that are not there before the first columns come: one that a partition
// of the checkpoint has for some rows has these values in the others, which may be of partitions that are read later.
func (r *restoring) absentFirst(ctx context.Context, from source) error {
	if from.Meta.Layout != matrix.RowSparse || from.Map.Bands() == 1 {
		return nil // all rows come together
	}
	for id := range from.Records {
		if !r.overlaps(from.Matrix, id) {
			continue
		}
		p, err := from.in.Head(ctx, from.Matrix, id)
		if err == nil {
			err = r.absent(&p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// absent gives the partitions the values of columns that are not there.
func (r *restoring) absent(p *state.Partition) error {
	for _, f := range r.to {
		if p.Absent == "" || f == nil || r.st.parts.At(f.to.id).Rows.Intersect(p.At.Rows).Len() == 0 {
			continue
		}
		if err := f.with(func(s *shard.Shard) error { return s.SetAbsent(p.At.Rows, inPlace(p.Absent)) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *restoring) slots() int { return shard.Slots(&r.st.meta, r.st.rule) }

func (r *restoring) cells(b state.Band) error {
	for id := range r.st.parts.Route(b.Values[0].At) {
		f := r.to[id]
		if f == nil {
			continue
		}
		for slot, cells := range b.Values {
			values, _ := wire.ViewAny(cells.Data.Values())
			if err := f.with(func(s *shard.Shard) error { return s.RestoreRect(cells.At, slot, values) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// columnsOf is a band of cells as columns of a sparse partition with the rows of the band: a matrix that was dense goes on by key when
// columns come that it has no place for.
func columnsOf(p *state.Partition, b state.Band) (*state.Partition, state.Band) {
	at := b.Values[0].At
	rows, cols := int(at.Rows.Len()), int(at.Cols.Len())
	part := *p
	part.At = at
	values, size := wire.ViewAny(b.Values[0].Data.Values())
	out := make([]byte, len(values)*len(b.Values))
	each := rows * len(b.Values) * size
	for slot, cells := range b.Values {
		values, _ = wire.ViewAny(cells.Data.Values())
		for row := range rows {
			for col := range cols {
				copy(out[col*each+(slot*rows+row)*size:][:size], values[(row*cols+col)*size:])
			}
		}
	}
	keys := make([]int64, cols)
	for col := range keys {
		keys[col] = at.Cols.Lo + int64(col)
	}
	return &part, state.Band{Keys: keys, Values: []matrix.Block{{At: at, Data: numbersOf(b.Values[0].Data, out)}}}
}

// numbersOf is the values as a dense block of the type of another.
func numbersOf(like matrix.Data, values []byte) matrix.Data {
	switch like.(type) {
	case *matrix.Dense[float64]:
		return denseOf[float64](values)
	case *matrix.Dense[int64]:
		return denseOf[int64](values)
	case *matrix.Dense[int32]:
		return denseOf[int32](values)
	}
	return denseOf[float32](values)
}

func denseOf[T matrix.Elem](values []byte) matrix.Data {
	val, _ := wire.Numbers[T](inPlace(string(values)))
	return &matrix.Dense[T]{Val: val}
}

// columns puts columns into the partitions that they are of.
func (r *restoring) columns(p *state.Partition, b state.Band, values []byte, each int) error {
	all := r.all(p, b, values)
	parts := r.st.parts
	if len(r.newer.of) > 0 || parts.Bits == 0 && parts.Beside() > 1 {
		if err := r.sort(p, all, each); err != nil {
			return err
		}
		r.see(p, b.Keys)
		return nil
	}
	for lo, hi := 0, 0; lo < len(b.Keys); lo = hi { // in the order of their hashes those of a partition follow each other
		beside := parts.Of(b.Keys[lo])
		for hi = lo + 1; hi < len(b.Keys) && parts.Of(b.Keys[hi]) == beside; {
			hi++
		}
		if err := r.put(p, beside, all.part(lo, hi, each)); err != nil {
			return err
		}
	}
	r.see(p, b.Keys)
	return nil
}

// restored is columns with their rows, one after the other.
type restored struct {
	keys   []int64
	ages   shard.Ages // what is known of these
	stamps []int64    // the steps that they are as of, if they are stale
	values []byte
}

// all is the columns of a band.
func (r *restoring) all(p *state.Partition, b state.Band, values []byte) restored {
	all := restored{keys: b.Keys, ages: shard.Ages{Last: b.Last, Ranks: b.Ranks}, stamps: b.Stamps, values: values}
	if r.ageless {
		r.lasts = repeated(r.lasts, r.named, len(b.Keys))
		all.ages.Last = r.lasts[:len(b.Keys)]
	}
	if b.Stamps == nil && r.past != nil { // they were up to date
		r.upToDate = repeated(r.upToDate, p.Steps, len(b.Keys))
		all.stamps = r.upToDate[:len(b.Keys)]
	}
	return all
}

// repeated is a step n times or more, in the memory of some others.
func repeated(some []int64, step int64, n int) []int64 {
	if len(some) > 0 && some[0] != step {
		some = some[:0]
	}
	for len(some) < n {
		some = append(some, step)
	}
	return some
}

// part is the columns lo to hi, which share the memory of c.
func (c *restored) part(lo, hi, each int) restored {
	out := restored{keys: c.keys[lo:hi], values: c.values[lo*each : hi*each]}
	if c.ages.Last != nil {
		out.ages.Last = c.ages.Last[lo:hi]
	}
	if c.ages.Ranks != nil {
		out.ages.Ranks = c.ages.Ranks[lo:hi]
	}
	if c.stamps != nil {
		out.stamps = c.stamps[lo:hi]
	}
	return out
}

// add adds column i of others.
func (c *restored) add(from *restored, i, each int) {
	one := from.part(i, i+1, each)
	c.keys = append(c.keys, one.keys...)
	c.ages.Last, c.ages.Ranks = append(c.ages.Last, one.ages.Last...), append(c.ages.Ranks, one.ages.Ranks...)
	c.stamps, c.values = append(c.stamps, one.stamps...), append(c.values, one.values...)
}

// sort puts those of the columns that no newer checkpoint has into the partitions that they are of.
func (r *restoring) sort(p *state.Partition, all restored, each int) error {
	if r.sorted == nil {
		r.sorted = make([]restored, r.st.parts.Beside())
	}
	for i, key := range all.keys {
		if !r.newer.has(p, key) {
			r.sorted[r.st.parts.Of(key)].add(&all, i, each)
		}
	}
	for beside := range r.sorted {
		some := &r.sorted[beside]
		if len(some.keys) == 0 {
			continue
		}
		if err := r.put(p, beside, *some); err != nil {
			return err
		}
		*some = restored{keys: some.keys[:0], stamps: some.stamps[:0], values: some.values[:0]}
	}
	return nil
}

// put puts columns into the partitions that lie beside others, those of all rows.
func (r *restoring) put(p *state.Partition, beside int, some restored) error {
	parts := r.st.parts
	for band := range parts.Bands() {
		f := r.to[band*parts.Beside()+beside]
		if f == nil || parts.Band(band).Intersect(p.At.Rows).Len() == 0 {
			continue
		}
		err := f.with(func(s *shard.Shard) (err error) {
			if r.past == nil {
				err = s.RestoreColumns(p.At.Rows, some.keys, some.values)
			} else {
				err = s.RestoreStale(r.past, p.At.Rows, some.keys, some.values, some.stamps)
			}
			if err == nil {
				err = s.RestoreAges(some.keys, some.ages)
			}
			return err
		})
		if err == nil {
			err = r.count(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// count takes the memory that a partition has beside the one that it will replace.
func (r *restoring) count(f *loaded) error {
	r.l.counting.Lock()
	defer r.l.counting.Unlock()
	err := r.l.counted(f, "restored beside what it has")
	if err == nil && len(r.st.accounts) > 0 {
		grown := int64(0)
		for _, f := range r.l.fresh {
			grown += f.size - f.to.counted.Load()
		}
		if grown > r.st.accounts.left() {
			err = r.st.accounts.full()
		}
	}
	return err
}

// inPlace is the bytes where numbers of any type can be.
func inPlace(values string) []byte {
	words := make([]uint64, (len(values)+7)/8)
	out := wire.View(words)[:len(values)]
	copy(out, values)
	return out
}
