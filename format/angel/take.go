package angel

import (
	"context"
	"errors"
	"fmt"

	"thole.example/wire"
)

// taker reads records of a feed.
type taker[T Number] struct {
	ctx   context.Context
	f     *feed
	pair  pair[T]
	style style
	each  int64 // bytes of a binary record; 0: not known
	text  bool  // records are lines
	room  *scratch
}

// errStray says that ids are not those of dense data in order.
var errStray = errors.New("ids are not in order")

// counted says which ids records have to have, when all cells of a place are there in order: records that are checked
// against it keep no ids.
type counted struct {
	rows  []rowMeta // of row formats; nil: records are columns
	first int64     // the first column
	cols  int64     // columns of a row
}

// take appends the next n records to r, which has room for them. If they are counted, their ids are left out.
func (t *taker[T]) take(r *records[T], n int64, c *counted) error {
	at := int64(len(r.val) / r.width)
	if (t.each > 0 || t.text) && n*int64(r.width) > batch {
		done, err := t.takeMany(r, at, n, c)
		if err != nil || done == n {
			return err
		}
		at, n = at+done, n-done
	}
	for n > 0 {
		if len(t.f.buf) > 0 {
			k, used, err := t.some(t.f.input(t.style), r, at, n, c)
			if err != nil {
				return err
			}
			t.f.skip(used)
			if at, n = at+k, n-k; n == 0 {
				return nil
			}
		}
		switch {
		case t.f.off == t.f.end:
			return &wire.At{Off: t.f.end, Err: fmt.Errorf("%d records missing: %w", n, wire.ErrTruncated)}
		case t.ctx.Err() != nil:
			return t.ctx.Err()
		}
		if err := t.f.more(); err != nil {
			return err
		}
	}
	return nil
}

// some reads up to n records of the input, to place at of r.
func (t *taker[T]) some(in input, r *records[T], at, n int64, c *counted) (k int64, used int, err error) {
	if c == nil {
		before := len(r.val)
		used, err = t.pair.take(in, r, int(n))
		return int64((len(r.val) - before) / r.width), used, err
	}
	if t.room == nil {
		t.room = newScratch(min(n, batch))
	}
	part := r.part(at, n)
	k, used, err = t.check(in, &part, at, n, c, t.room)
	r.val = r.val[:(at+k)*int64(r.width)]
	return k, used, err
}

// part is the place of n records of r, empty.
func (r *records[T]) part(at, n int64) records[T] {
	w := int64(r.width)
	p := records[T]{width: r.width, val: r.val[at*w : at*w : (at+n)*w]}
	if r.col != nil {
		p.col = r.col[at:at:(at + n)]
	}
	if r.row != nil {
		p.row = r.row[at:at:(at + n)]
	}
	return p
}

// scratch is room for ids that are looked at once.
type scratch struct {
	col []int64
	row []int32
}

func newScratch(n int64) *scratch { return &scratch{make([]int64, n), make([]int32, n)} }

// check reads up to n records, the first of which is number at, and looks at their ids.
func (t *taker[T]) check(in input, r *records[T], at, n int64, c *counted, room *scratch) (k int64, used int, err error) {
	step := max(1, min(int64(len(room.col)), batch/int64(r.width)))
	for k < n {
		before := len(r.val)
		r.col, r.row = room.col[:0], room.row[:0]
		more, err := t.pair.take(in, r, int(min(step, n-k)))
		if err != nil {
			return k, used, err
		}
		if !holds(c, at+k, r) {
			return k, used, errStray
		}
		if len(r.val) == before {
			break
		}
		k, used = k+int64((len(r.val)-before)/r.width), used+more
		in.b, in.base = in.b[more:], in.base+int64(more)
	}
	return k, used, nil
}

// holds reports whether records, the first of which is number at, have the ids that they must have.
func holds[T Number](c *counted, at int64, r *records[T]) bool {
	for i := int64(0); i < int64(len(r.col)); {
		row, first := (at+i)/c.cols, (at+i)%c.cols
		n := min(c.cols-first, int64(len(r.col))-i)
		first += c.first
		for k, id := range r.col[i : i+n] {
			if id != first+int64(k) {
				return false
			}
		}
		if len(r.row) > 0 {
			want := c.rows[row].id
			for _, id := range r.row[i : i+n] {
				if id != want {
					return false
				}
			}
		}
		i += n
	}
	return true
}

// takeJob is a portion of a feed and where its records go.
type takeJob[T Number] struct {
	room  []byte
	in    input
	at, n int64
	ids   *scratch
}

// takeMany reads records, from place at of r on, in several goroutines, as long as they can be counted without reading
// them. It says how many it took.
func (t *taker[T]) takeMany(r *records[T], at, n int64, c *counted) (done int64, err error) {
	next := at
	err = relay(workers(n*int64(r.width)), func(j *takeJob[T]) (bool, error) {
		if next == at+n || t.ctx.Err() != nil {
			return false, t.ctx.Err()
		}
		if j.room == nil {
			j.room = make([]byte, min(window, t.f.end-t.f.base))
			j.ids = newScratch(batch)
		}
		base := t.f.base
		b, k, err := t.f.portion(j.room, t.each, at+n-next)
		j.in = input{style: t.style, b: b, base: base, last: true}
		j.at, j.n = next, k
		next += k
		return k > 0, err
	}, func(j *takeJob[T]) error {
		return t.takeJob(r, j, c)
	}, func(j *takeJob[T]) error {
		done += j.n
		return nil
	})
	r.val = r.val[:(at+done)*int64(r.width)]
	if r.col != nil {
		r.col = r.col[:at+done]
	}
	if r.row != nil {
		r.row = r.row[:at+done]
	}
	return done, err
}

func (t *taker[T]) takeJob(r *records[T], j *takeJob[T], c *counted) error {
	part := r.part(j.at, j.n)
	var used int
	var err error
	if c == nil {
		used, err = t.pair.take(j.in, &part, int(j.n))
	} else {
		_, used, err = t.check(j.in, &part, j.at, j.n, c, j.ids)
	}
	if err == nil && used < len(j.in.b) {
		err = &wire.At{Off: j.in.base + int64(used), Err: fmt.Errorf("a record ends here, a later one was wanted")}
	}
	return err
}
