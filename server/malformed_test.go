package server_test

import (
	"errors"
	"math"
	"testing"

	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/ssp"
)

// wrong is a request that must be refused, and the error that it must be.
type wrong struct {
	q    rpc.Request
	want error
}

// scene is the matrices that wrong requests are about, on the first of two servers.
type scene struct{ d, h, w, g, n, t *known }

func newScene(c *conn) *scene {
	d := spec("d", 2, 40, matrix.RowSparse)
	d.Partitioner, d.Meta.BlockCols = "column", 20
	h := spec("h", 2, 1<<40, matrix.RowSparse)
	w, g := spec("w", 2, 40, matrix.RowDense), with(spec("g", 1, 40, matrix.RowDense), "sgd")
	w.Meta.BlockCols, g.Meta.BlockCols = 20, 20
	n := spec("n", 1, 40, matrix.RowDense)
	n.Meta.BlockCols, n.Meta.DType = 20, matrix.I64
	t := spec("t", 1<<22, 1<<20, matrix.RowSparse)
	ms := c.createOn(2, d, h, w, g, n, t)
	return &scene{ms[0], ms[1], ms[2], ms[3], ms[4], ms[5]}
}

// some is n keys from k on that this server has of the hashed matrix, or another one has.
func (m *known) some(n int, here bool) (keys []int64) {
	for k := int64(0); len(keys) < n; k++ {
		if (m.parts.Owners[m.parts.Of(k)] == 0) == here {
			keys = append(keys, k)
		}
	}
	return keys
}

// TestMalformed wants every wrong request answered by a typed error, with the job as it was, the connection alive, and its
// neighbours served.
func TestMalformed(t *testing.T) {
	for _, group := range []func(m *scene) map[string]wrong{
		wrongOperations, wrongJoins, wrongCreates, wrongPlaces, wrongPulls, wrongDeltas, wrongDirect, wrongTicks, wrongOthers,
	} {
		s := serve(t, nil)
		for name := range group(newScene(s.join(0, 2, ssp.BSP))) {
			bubble(t, name, func(t *testing.T) {
				s := serve(t, nil)
				c, other := s.join(0, 2, ssp.BSP), s.joinAs(rpc.Join{Job: "beside", Tasks: 1})
				m := newScene(c)
				near := other.create(one("x", 1, 4))[0]
				bad := group(m)[name]
				over := c
				if bad.q.Op == rpc.OpJoin { // nobody joins over a connection that is in use
					if _, err := c.ask(bad.q); err == nil {
						t.Errorf("no error over the connection of a task")
					}
					over = s.dial()
				}
				if _, err := over.ask(bad.q); !errors.Is(err, bad.want) {
					t.Errorf("error is %v, want %v", err, bad.want)
				}
				if bad.q.Seq == 1 {
					c.seq = 1 // which was used
				}
				other.pushed([]rpc.Part{near.row(0, 1, 2, 3, 4)}, near.tick(0, 0, 0))
				if got := other.pulled(near.whole(1)); got[3] != 4 {
					t.Errorf("the job beside it has %v", got)
				}
				unharmed(t, c, m)
			})
		}
	}
}

// unharmed makes a whole step with the other task, and wants what both push to be all that is there.
func unharmed(t *testing.T, c *conn, m *scene) {
	t.Helper()
	other := c.s.join(1, 2, ssp.BSP)
	ms := []*known{m.d, m.h, m.w, m.g, m.n, m.t}
	var ticks []rpc.Tick
	for _, k := range ms {
		ticks = append(ticks, k.tick(0, 1, 1))
	}
	key := m.h.some(1, true)[0]
	c.pushed([]rpc.Part{m.d.columns(0, map[int64]float64{3: 1}), m.w.row(0, 1)}, ticks...)
	other.pushed([]rpc.Part{m.h.columns(0, map[int64]float64{key: 2}), m.n.row(0, 5), m.g.row(0, 2)}, ticks...)
	for i, want := range []float64{2, 4, 1, -1, 5, 0} {
		sum := 0.0
		for _, v := range c.pulled(ms[i].all(1)...) {
			sum += v
		}
		if sum != want {
			t.Errorf("matrix %s has values of the sum %v, want %v", ms[i].Name, sum, want)
		}
	}
	if made := c.create(one("next", 1, 1))[0]; made.number != 7 {
		t.Errorf("the next matrix has number %d, want 7", made.number)
	}
}

func wrongOperations(*scene) map[string]wrong {
	return map[string]wrong{
		"operation":     {rpc.Request{Op: 99}, rpc.ErrMalformed},
		"no operation":  {rpc.Request{}, rpc.ErrMalformed},
		"barrier below": {rpc.Request{Op: rpc.OpBarrier, Clock: -1}, rpc.ErrMalformed},
		"barrier never": {rpc.Request{Op: rpc.OpBarrier, Clock: math.MaxInt32}, rpc.ErrMalformed},
		"members json":  {rpc.Request{Op: rpc.OpMembers, Arg: []byte("{")}, rpc.ErrMalformed},
	}
}

func wrongJoins(*scene) map[string]wrong {
	j := func(change func(a *rpc.Join)) rpc.Request {
		a := rpc.Join{Job: "j", Task: 1, Tasks: 2}
		change(&a)
		return rpc.Request{Op: rpc.OpJoin, Arg: arg(a)}
	}
	return map[string]wrong{
		"join json":        {rpc.Request{Op: rpc.OpJoin, Arg: []byte("{")}, rpc.ErrMalformed},
		"join no task":     {j(func(a *rpc.Join) { a.Task, a.Tasks = 0, 0 }), rpc.ErrMalformed},
		"join too many":    {j(func(a *rpc.Join) { a.Tasks = 1 << 30 }), rpc.ErrMalformed},
		"join beyond":      {j(func(a *rpc.Join) { a.Task = 2 }), rpc.ErrMalformed},
		"join below":       {j(func(a *rpc.Join) { a.Task = -1 }), rpc.ErrMalformed},
		"join bound":       {j(func(a *rpc.Join) { a.Bound = 3 }), rpc.ErrRefused},
		"join bound below": {j(func(a *rpc.Join) { a.Bound = -3 }), rpc.ErrMalformed},
		"join tasks":       {j(func(a *rpc.Join) { a.Tasks = 3 }), rpc.ErrRefused},
		"join again":       {j(func(a *rpc.Join) { a.Task = 0 }), rpc.ErrRefused},
		"join epoch":       {j(func(a *rpc.Join) { a.Epoch = -1 }), rpc.ErrMalformed},
		"join not own":     {j(func(a *rpc.Join) { a.Mine = []int{0} }), rpc.ErrMalformed},
		"join others":      {j(func(a *rpc.Join) { a.Mine = []int{1, 2} }), rpc.ErrMalformed},
		"join back":        {j(func(a *rpc.Join) { a.Task, a.Client, a.Epoch = 0, "c", 1 }), rpc.ErrNotFound},
	}
}

func wrongCreates(*scene) map[string]wrong {
	q := func(a rpc.Create) rpc.Request { return rpc.Request{Op: rpc.OpCreate, Arg: arg(a)} }
	second := func(want error, change func(s *rpc.Spec)) wrong { // after one that is right
		s := spec("second", 1, 1, matrix.RowDense)
		change(&s)
		return wrong{q(rpc.Create{Matrices: []rpc.Spec{spec("first", 1, 1, matrix.RowDense), s}, Servers: 2}), want}
	}
	bound := ssp.Bound(-1)
	return map[string]wrong{
		"create json":        {rpc.Request{Op: rpc.OpCreate, Arg: []byte("[]")}, rpc.ErrMalformed},
		"create no servers":  {q(rpc.Create{}), rpc.ErrMalformed},
		"create index":       {q(rpc.Create{Servers: 2, Index: 2}), rpc.ErrMalformed},
		"create index below": {q(rpc.Create{Servers: 2, Index: -1}), rpc.ErrMalformed},
		"create servers":     {q(rpc.Create{Servers: 1 << 30, Matrices: []rpc.Spec{spec("a", 1, 1, 0)}}), rpc.ErrRefused},
		"create partitioner": second(rpc.ErrRefused, func(s *rpc.Spec) { s.Partitioner = "rows" }),
		"create dense hash":  second(rpc.ErrRefused, func(s *rpc.Spec) { s.Partitioner = "hash" }),
		"create other":       second(rpc.ErrExists, func(s *rpc.Spec) { s.Meta.Name = "d" }),
		"create twice":       second(rpc.ErrExists, func(s *rpc.Spec) { s.Meta.Name, s.Meta.Rows = "first", 2 }),
		"create size":        second(rpc.ErrMalformed, func(s *rpc.Spec) { s.Meta.Rows = -1 }),
		"create type":        second(rpc.ErrRefused, func(s *rpc.Spec) { s.Meta.DType = matrix.F16 }),
		"create rule":        second(rpc.ErrNotFound, func(s *rpc.Spec) { s.Meta.Rule = "magic" }),
		"create setting":     second(rpc.ErrRefused, func(s *rpc.Spec) { s.Meta.Rule, s.Meta.Hyper = "sgd", map[string]float64{"x": 1} }),
		"create rule type":   second(rpc.ErrRefused, func(s *rpc.Spec) { s.Meta.Rule, s.Meta.DType = "sgd", matrix.I64 }),
		"create init":        second(rpc.ErrRefused, func(s *rpc.Spec) { s.Meta.Init.Kind = "magic" }),
		"create cells":       second(rpc.ErrRefused, func(s *rpc.Spec) { s.Meta.Rows, s.Meta.Cols = 1<<40, 1<<40 }),
		"create partitions":  second(rpc.ErrRefused, func(s *rpc.Spec) { s.Meta.Cols, s.Meta.BlockCols = 1<<40, 1 }),
		"create bound":       second(rpc.ErrMalformed, func(s *rpc.Spec) { s.Bound = &bound }),
		"create non-finite":  second(rpc.ErrMalformed, func(s *rpc.Spec) { s.NonFinite = "hope" }),
	}
}

// wrongPlaces are parts that neither a pull nor a push may have.
func wrongPlaces(m *scene) map[string]wrong {
	out := map[string]wrong{}
	add := func(name string, want error, p rpc.Part, change func(p *rpc.Part)) {
		if change != nil {
			change(&p)
		}
		good := m.w.row(0, 1)
		out["pull "+name] = wrong{rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{m.w.at(0, matrix.At(0, 1, 0, 20)), p}}, want}
		out["push and pull "+name] = wrong{rpc.Request{Op: rpc.OpPush, Seq: 1, Parts: []rpc.Part{good, p}}, want}
		p.Values = make([]byte, 8*max(1, p.Rows.Len())*max(1, int64(len(p.Keys))))
		out["push "+name] = wrong{rpc.Request{Op: rpc.OpPush, Seq: 1, Parts: []rpc.Part{good, p}}, want}
	}
	here := m.h.some(2, true)
	cell, keys, hashed := m.w.at(0, matrix.At(0, 1, 0, 1)), m.d.keys(0, 3, 4), m.h.keys(0, here...)
	add("no matrix", rpc.ErrNotFound, cell, func(p *rpc.Part) { p.Matrix = 0 })
	add("matrix", rpc.ErrNotFound, cell, func(p *rpc.Part) { p.Matrix = 99 })
	add("routing map", rpc.ErrStale, cell, func(p *rpc.Part) { p.Version = 7 })
	add("no routing map", rpc.ErrStale, cell, func(p *rpc.Part) { p.Version = 0 })
	add("no kind", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Kind = rpc.KindInvalid })
	add("kind", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Kind = 9 })
	add("rows beyond", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Rows.Hi = 3 })
	add("rows below", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Rows.Lo = -1 })
	add("columns beyond", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Cols = matrix.Range{Lo: 40, Hi: 41} })
	add("rows reversed", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Rows = matrix.Range{Lo: 1, Hi: 0} })
	add("two partitions", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Cols.Hi = 40 })
	add("partition elsewhere", rpc.ErrMalformed, m.w.at(0, matrix.At(0, 1, 20, 21)), nil)
	add("other partition", rpc.ErrMalformed, m.w.at(0, matrix.At(0, 1, 20, 21)), func(p *rpc.Part) { p.Groups[0].Partition = 0 })
	add("no such partition", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Groups = []rpc.Group{{Partition: math.MaxUint32}} })
	add("no partition", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Groups = nil })
	add("groups of cells", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Groups = []rpc.Group{{}, {Partition: 1}} })
	add("keys of cells", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Groups, p.Keys = []rpc.Group{{Keys: 1}}, []int64{1} })
	add("count of cells", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Groups = []rpc.Group{{Keys: 1}} })
	add("cells of a sparse matrix", rpc.ErrMalformed, m.d.at(0, matrix.At(0, 1, 0, 1)), nil)
	add("stored cells of a dense matrix", rpc.ErrMalformed, cell, func(p *rpc.Part) { p.Kind = rpc.KindStored })
	add("stored keys", rpc.ErrMalformed, m.d.stored(0, 0), func(p *rpc.Part) { p.Groups, p.Keys = []rpc.Group{{Keys: 1}}, []int64{1} })
	add("stored beyond", rpc.ErrMalformed, m.d.stored(0, 0), func(p *rpc.Part) { p.Cols.Hi = 40 })
	add("stored of two", rpc.ErrMalformed, m.d.stored(0, 0), func(p *rpc.Part) { p.Groups = append(p.Groups, p.Groups...) })
	add("key beyond", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Keys = []int64{3, 40} })
	add("key below", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Keys = []int64{-1, 3} })
	add("key not of the part", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Cols = matrix.Range{Lo: 0, Hi: 4} })
	add("key of the next partition", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Keys = []int64{3, 25} })
	add("keys elsewhere", rpc.ErrMalformed, m.h.keys(0, m.h.some(1, false)...), nil)
	add("fewer keys", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Groups = []rpc.Group{{Keys: 3}} })
	add("many fewer keys", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Groups = []rpc.Group{{Keys: math.MaxUint32}} })
	add("more keys", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Groups = []rpc.Group{{Keys: 1}} })
	add("keys of nobody", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Groups = nil })
	add("groups twice", rpc.ErrMalformed, keys, func(p *rpc.Part) { p.Groups = []rpc.Group{{Keys: 1}, {Keys: 1}} })
	add("groups down", rpc.ErrMalformed, hashed, func(p *rpc.Part) { p.Groups = []rpc.Group{{Partition: 1}, {Keys: 2}} })
	return out
}

func wrongPulls(m *scene) map[string]wrong {
	q := func(p rpc.Part) rpc.Request { return rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{p}} }
	return map[string]wrong{
		"pull past":        {q(m.w.at(-1, matrix.At(0, 1, 0, 1))), rpc.ErrMalformed},
		"pull never":       {q(m.w.at(math.MaxInt32, matrix.At(0, 1, 0, 1))), rpc.ErrMalformed},
		"pull with values": {q(m.w.row(0, 1)), rpc.ErrMalformed},
		"pull too much":    {q(m.t.keys(0, m.t.some(200, true)...)), rpc.ErrTooLarge},
	}
}

// wrongDeltas are pushes whose values are wrong, beside right ones.
func wrongDeltas(m *scene) map[string]wrong {
	q := func(p rpc.Part, change func(p *rpc.Part)) rpc.Request {
		if change != nil {
			change(&p)
		}
		return rpc.Request{Op: rpc.OpPush, Seq: 1, Parts: []rpc.Part{m.w.row(0, 1), m.h.columns(0, map[int64]float64{m.h.some(1, true)[0]: 1}), p},
			Ticks: []rpc.Tick{m.w.tick(0, 0, 0)}}
	}
	cells, keys := m.w.row(0, 1, 2), m.d.columns(0, map[int64]float64{3: 1, 5: 1})
	here, there := m.h.some(2, true), m.h.some(1, false)[0]
	narrow := func(p *rpc.Part) { p.DType, p.Values = matrix.F32, p.Values[:len(p.Values)/2] }
	return map[string]wrong{
		"push key of another hash": {q(m.h.columns(0, map[int64]float64{here[0]: 1, here[1]: 1}), func(p *rpc.Part) { p.Keys[1] = there }), rpc.ErrMalformed},
		"push unaligned":           {q(cells, func(p *rpc.Part) { p.Values = append(make([]byte, 1), p.Values...)[1:] }), rpc.ErrMalformed},
		"push type":                {q(cells, narrow), rpc.ErrMalformed},
		"push no type":             {q(cells, func(p *rpc.Part) { p.DType = matrix.Invalid }), rpc.ErrMalformed},
		"push keys type":           {q(keys, narrow), rpc.ErrMalformed},
		"push integers":            {q(m.n.row(0, 1), func(p *rpc.Part) { p.DType = matrix.F64 }), rpc.ErrMalformed},
		"push short":               {q(cells, func(p *rpc.Part) { p.Values = p.Values[:8] }), rpc.ErrMalformed},
		"push long":                {q(cells, func(p *rpc.Part) { p.Cols.Hi = 1 }), rpc.ErrMalformed},
		"push keys short":          {q(keys, func(p *rpc.Part) { p.Values = p.Values[:8] }), rpc.ErrMalformed},
		"push keys long":           {q(keys, func(p *rpc.Part) { p.Rows.Hi = 1 }), rpc.ErrMalformed},
		"push odd bytes":           {q(keys, func(p *rpc.Part) { p.Values = p.Values[:31] }), rpc.ErrMalformed},
		"push stored":              {q(m.d.stored(0, 0), func(p *rpc.Part) { p.Values = make([]byte, 16) }), rpc.ErrMalformed},
		"push clock":               {q(m.w.row(5, 1), nil), rpc.ErrMalformed},
		"push past":                {q(m.w.row(-1, 1), nil), rpc.ErrMalformed},
		"push no number":           {rpc.Request{Op: rpc.OpPush, Parts: []rpc.Part{cells}}, rpc.ErrMalformed},
		"push far ahead":           {rpc.Request{Op: rpc.OpPush, Seq: 1 << 40, Parts: []rpc.Part{cells}}, rpc.ErrRefused},
		"push not a number":        {q(m.g.row(0, 1, math.NaN()), nil), rpc.ErrRefused},
		"push infinite":            {q(m.h.columns(0, map[int64]float64{m.h.some(1, true)[0]: math.Inf(-1)}), nil), rpc.ErrRefused},
	}
}

// wrongDirect are direct pushes, of which nothing is done.
func wrongDirect(m *scene) map[string]wrong {
	q := func(parts ...rpc.Part) rpc.Request { return rpc.Request{Op: rpc.OpDirect, Seq: 1, Parts: parts} }
	changed := func(p rpc.Part, change func(p *rpc.Part)) rpc.Part {
		change(&p)
		return p
	}
	row := m.w.row(0, 1)
	unnumbered, ticked := q(row), q(row)
	unnumbered.Seq, ticked.Ticks = 0, []rpc.Tick{m.w.tick(0, 0, 0)}
	return map[string]wrong{
		"direct nothing":      {q(), rpc.ErrMalformed},
		"direct no values":    {q(row, m.w.at(0, matrix.At(0, 1, 0, 1))), rpc.ErrMalformed},
		"direct two matrices": {q(row, m.n.row(0, 1)), rpc.ErrMalformed},
		"direct function":     {q(changed(row, func(p *rpc.Part) { p.Kind = rpc.KindFunc })), rpc.ErrMalformed},
		"direct matrix":       {q(changed(row, func(p *rpc.Part) { p.Matrix = 99 })), rpc.ErrNotFound},
		"direct short":        {q(row, changed(m.w.row(0, 1, 2), func(p *rpc.Part) { p.Values = p.Values[:8] })), rpc.ErrMalformed},
		"direct infinite":     {q(row, m.w.row(0, 1, math.Inf(1))), rpc.ErrRefused},
		"direct assigned":     {q(row, changed(m.w.row(0, math.NaN()), func(p *rpc.Part) { p.Assign = true })), rpc.ErrRefused},
		"direct no number":    {unnumbered, rpc.ErrMalformed},
		"direct tick":         {ticked, rpc.ErrMalformed},
	}
}

func wrongTicks(m *scene) map[string]wrong {
	q := func(ticks ...rpc.Tick) rpc.Request {
		return rpc.Request{Op: rpc.OpPush, Seq: 1, Parts: []rpc.Part{m.g.row(0, 1)}, Ticks: ticks}
	}
	good := m.d.tick(0, 1, 1)
	return map[string]wrong{
		"tick matrix":      {q(good, rpc.Tick{Matrix: 99}), rpc.ErrMalformed},
		"tick twice":       {q(good, good), rpc.ErrMalformed},
		"tick down":        {q(m.h.tick(0, 1, 1), good), rpc.ErrMalformed},
		"tick clock":       {q(good, m.h.tick(1, 1, 1)), rpc.ErrMalformed},
		"tick past":        {q(good, m.h.tick(-1, 1, 1)), rpc.ErrMalformed},
		"tick own clock":   {q(own(1), good), rpc.ErrMalformed},
		"tick last":        {q(good, m.h.tick(math.MaxInt32, 1, 1)), rpc.ErrMalformed},
		"tick weight":      {q(good, m.h.tick(0, -1, 1)), rpc.ErrMalformed},
		"tick no weight":   {q(good, m.h.tick(0, math.NaN(), 1)), rpc.ErrMalformed},
		"tick much weight": {q(good, m.h.tick(0, math.Inf(1), 1)), rpc.ErrMalformed},
		"tick rate":        {q(good, m.h.tick(0, 1, math.Inf(1))), rpc.ErrMalformed},
		"tick no rate":     {q(good, m.h.tick(0, 1, math.NaN())), rpc.ErrMalformed},
	}
}

func wrongOthers(m *scene) map[string]wrong {
	of := []rpc.Part{{Matrix: m.d.number}}
	nobody := []rpc.Part{{Matrix: 99}}
	save := func(op rpc.Op, a rpc.Save) rpc.Request { return rpc.Request{Op: op, Arg: arg(a)} }
	broken := func(op rpc.Op) wrong { return wrong{rpc.Request{Op: op, Arg: []byte("{")}, rpc.ErrMalformed} }
	return map[string]wrong{
		"get":              {rpc.Request{Op: rpc.OpGet, Func: "median", Parts: of}, rpc.ErrNotFound},
		"get argument":     {rpc.Request{Op: rpc.OpGet, Func: "sum", Arg: []byte("{"), Parts: of}, rpc.ErrMalformed},
		"get rows":         {rpc.Request{Op: rpc.OpGet, Func: "sum", Arg: []byte(`{"rows":[2]}`), Parts: of}, rpc.ErrMalformed},
		"get matrix":       {rpc.Request{Op: rpc.OpGet, Func: "sum", Parts: nobody}, rpc.ErrNotFound},
		"update":           {rpc.Request{Op: rpc.OpUpdate, Seq: 1, Func: "sum", Parts: of}, rpc.ErrMalformed},
		"update argument":  {rpc.Request{Op: rpc.OpUpdate, Seq: 1, Func: "fill", Parts: of}, rpc.ErrMalformed},
		"update matrix":    {rpc.Request{Op: rpc.OpUpdate, Seq: 1, Func: "fill", Arg: []byte(`{"value":1}`), Parts: nobody}, rpc.ErrNotFound},
		"update no number": {rpc.Request{Op: rpc.OpUpdate, Func: "fill", Arg: []byte(`{"value":1}`), Parts: of}, rpc.ErrMalformed},
		"save json":        broken(rpc.OpSave),
		"save codec":       {save(rpc.OpSave, rpc.Save{Codec: "zip", Path: "p", Matrices: []string{"d"}}), rpc.ErrNotFound},
		"save matrix":      {save(rpc.OpSave, rpc.Save{Codec: "npy", Path: "p", Matrices: []string{"x"}}), rpc.ErrNotFound},
		"save clock":       {rpc.Request{Op: rpc.OpSave, Arg: arg(rpc.Save{Codec: "npy", Path: "p"}), Parts: nobody}, rpc.ErrMalformed},
		"rehearse codec":   {save(rpc.OpSave, rpc.Save{Codec: "zip", Path: "p", Matrices: []string{"d"}, Rehearsal: true}), rpc.ErrNotFound},
		"commit json":      broken(rpc.OpCommit),
		"commit":           {save(rpc.OpCommit, rpc.Save{Stage: "none"}), rpc.ErrNotFound},
		"abort json":       broken(rpc.OpAbort),
		"look json":        {rpc.Request{Op: rpc.OpLook, Arg: []byte("{")}, rpc.ErrMalformed},
		"look name":        {rpc.Request{Op: rpc.OpLook, Arg: arg(rpc.Look{Path: "../p"})}, rpc.ErrMalformed},
		"look no name":     {rpc.Request{Op: rpc.OpLook, Arg: arg(rpc.Look{})}, rpc.ErrMalformed},
		"look path":        {rpc.Request{Op: rpc.OpLook, Arg: arg(rpc.Look{Path: "p", Matrix: "d"})}, rpc.ErrNotFound},
		"look format":      {rpc.Request{Op: rpc.OpLook, Arg: arg(rpc.Look{Path: "p", Codec: "zip", Matrix: "d"})}, rpc.ErrNotFound},
		"load json":        {rpc.Request{Op: rpc.OpLoad, Seq: 1, Arg: []byte("{")}, rpc.ErrMalformed},
		"load no number":   {rpc.Request{Op: rpc.OpLoad, Arg: arg(rpc.Load{Path: "p", Matrices: []string{"d"}})}, rpc.ErrMalformed},
		"load format":      {rpc.Request{Op: rpc.OpLoad, Seq: 1, Arg: arg(rpc.Load{Path: "p", Codec: "zip", Matrices: []string{"d"}})}, rpc.ErrNotFound},
		"load path":        {rpc.Request{Op: rpc.OpLoad, Seq: 1, Arg: arg(rpc.Load{Path: "p", Matrices: []string{"d"}})}, rpc.ErrNotFound},
		"load matrix":      {rpc.Request{Op: rpc.OpLoad, Seq: 1, Arg: arg(rpc.Load{Path: "p", Matrices: []string{"x"}})}, rpc.ErrNotFound},
	}
}
