package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/format/all"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs a test in which time stands still while anything can happen: a wait that nothing ends
// fails at once.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// codecs are formats that hold each kind of matrix.
var codecs = all.Codecs()

// site is one server in memory, for requests that no client would send.
type site struct {
	t      testing.TB
	net    *mem.Network
	server *server.Server
	addr   string
}

// serve starts a server; change, if not nil, sets it up before.
func serve(t testing.TB, change func(s *server.Server)) *site {
	t.Helper()
	s := &site{t: t, net: &mem.Network{Log: slog.New(slog.DiscardHandler)}}
	s.server = &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}}
	if change != nil {
		change(s.server)
	}
	l, err := s.net.Listen(t.Context(), "s", s.server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s.addr = l.Addr()
	return s
}

// table is the built-in functions and rules, and some more.
func table(t testing.TB, more ...psf.Func) *psf.Table {
	t.Helper()
	funcs, err := psf.NewTable(append(psf.Funcs(), more...), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	return funcs
}

// conn is a connection, and the number of the last change that was sent over it.
type conn struct {
	rpc.Conn
	s   *site
	seq uint64
}

func (s *site) dial() *conn {
	s.t.Helper()
	c, err := s.net.Dial(s.t.Context(), s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return &conn{Conn: c, s: s}
}

// join connects a task of the job "j".
func (s *site) join(task, tasks int, bound ssp.Bound) *conn {
	s.t.Helper()
	return s.joinAs(rpc.Join{Job: "j", Task: task, Tasks: tasks, Bound: bound})
}

func (s *site) joinAs(a rpc.Join) *conn {
	s.t.Helper()
	c := s.dial()
	c.must(rpc.Request{Op: rpc.OpJoin, Arg: arg(a)})
	return c
}

// start sends a request.
func (c *conn) start(q rpc.Request) *rpc.Call { return c.Start(c.s.t.Context(), &q) }

// patience is how long anything may take that does not wait for ever. In bubbles it is over at once.
const patience = 2 * time.Minute

// outcome waits for the answer.
func (c *conn) outcome(call *rpc.Call) (*rpc.Response, error) {
	ctx, cancel := context.WithTimeout(c.s.t.Context(), patience)
	defer cancel()
	return call.Wait(ctx)
}

// ask sends a request and waits for the answer.
func (c *conn) ask(q rpc.Request) (*rpc.Response, error) { return c.outcome(c.start(q)) }

// must wants an answer that is no error.
func (c *conn) must(q rpc.Request) *rpc.Response {
	c.s.t.Helper()
	r, err := c.ask(q)
	if err != nil {
		c.s.t.Fatalf("%v: %v", q.Op, err)
	}
	return r
}

// change numbers a push and keeps its values in counted memory of their own, as a network does.
func (c *conn) change(q rpc.Request) rpc.Request {
	if c.seq++; q.Seq == 0 {
		q.Seq = c.seq
	}
	return c.s.inMemory(q)
}

// inMemory copies what a request pushes to a buffer that the ledger counts; the buffer is the caller's to release.
func (s *site) inMemory(q rpc.Request) rpc.Request {
	total := 0
	for i := range q.Parts {
		total += (len(q.Parts[i].Values) + 7) &^ 7
	}
	q.Memory = rpc.NewBuffer(total, s.server.Ledger.Force(budget.Frames, int64(total)))
	q.Parts = slices.Clone(q.Parts)
	room := q.Memory.Bytes()
	for i := range q.Parts {
		if p := &q.Parts[i]; p.Values != nil {
			n := copy(room, p.Values)
			p.Values, room = room[:n:n], room[(n+7)&^7:]
		}
	}
	return q
}

// push sends deltas and ticks as the next change.
func (c *conn) push(parts []rpc.Part, ticks ...rpc.Tick) *rpc.Call {
	q := c.change(rpc.Request{Op: rpc.OpPush, Parts: parts, Ticks: ticks})
	defer q.Memory.Release()
	return c.start(q)
}

// pushed wants the change done, and gives the answer.
func (c *conn) pushed(parts []rpc.Part, ticks ...rpc.Tick) *rpc.Response {
	c.s.t.Helper()
	return c.wait(c.push(parts, ticks...))
}

// wait wants the call answered without an error.
func (c *conn) wait(call *rpc.Call) *rpc.Response {
	c.s.t.Helper()
	r, err := c.outcome(call)
	if err != nil {
		c.s.t.Fatal(err)
	}
	return r
}

// pull sends a request for values.
func (c *conn) pull(parts ...rpc.Part) *rpc.Call {
	return c.start(rpc.Request{Op: rpc.OpPull, Parts: parts})
}

// pulled is the values of the parts, one after the other.
func (c *conn) pulled(parts ...rpc.Part) []float64 {
	c.s.t.Helper()
	r := c.wait(c.pull(parts...))
	defer r.Release()
	return numbers(r.Parts)
}

func (c *conn) leave() { c.must(rpc.Request{Op: rpc.OpLeave}) }

// create makes matrices of which this server has everything.
func (c *conn) create(specs ...rpc.Spec) []*known { return c.createOn(1, specs...) }

// createOn makes matrices on the first of some servers.
func (c *conn) createOn(servers int, specs ...rpc.Spec) []*known {
	c.s.t.Helper()
	r := c.must(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: specs, Servers: servers})})
	var made rpc.Created
	if err := json.Unmarshal(r.Results[0].Data, &made); err != nil {
		c.s.t.Fatal(err)
	}
	var out []*known
	for i := range specs {
		cut, err := part.Lookup(specs[i].Partitioner, &specs[i].Meta)
		if err != nil {
			c.s.t.Fatal(err)
		}
		m, err := part.NewMap(&specs[i].Meta, cut, servers, 1)
		if err != nil {
			c.s.t.Fatal(err)
		}
		out = append(out, &known{specs[i].Meta, made.Numbers[i], m})
	}
	return out
}

// known is a matrix as a task knows it.
type known struct {
	matrix.Meta
	number uint32
	parts  *part.Map
}

// tick ends a clock of the matrix.
func (m *known) tick(clock int, weight, rate float64) rpc.Tick {
	return rpc.Tick{Matrix: m.number, Clock: int32(clock), Weight: weight, Rate: rate}
}

// own ends the task's own clock.
func own(clock int) rpc.Tick { return rpc.Tick{Clock: int32(clock)} }

// at asks for the cells of a rectangle, which lies in one partition.
func (m *known) at(clock int, at matrix.Rect) rpc.Part {
	id := 0
	for p := range m.parts.Route(at) {
		id = p
	}
	return rpc.Part{
		Kind: rpc.KindDense, DType: m.DType, Matrix: m.number, Version: 1, Clock: int32(clock), Rows: at.Rows, Cols: at.Cols,
		Groups: []rpc.Group{{Partition: uint32(id)}},
	}
}

// dense brings values for such a rectangle.
func (m *known) dense(clock int, at matrix.Rect, val ...float64) rpc.Part {
	p := m.at(clock, at)
	p.Values = m.bytes(val)
	return p
}

// row brings values for the first columns of the first row.
func (m *known) row(clock int, val ...float64) rpc.Part {
	return m.dense(clock, matrix.At(0, 1, m.ColLo, m.ColLo+int64(len(val))), val...)
}

// whole asks for all cells of a matrix that has one partition.
func (m *known) whole(clock int) rpc.Part { return m.at(clock, m.Rect()) }

// keys asks for columns, which come grouped by partition.
func (m *known) keys(clock int, keys ...int64) rpc.Part {
	p := rpc.Part{
		Kind: rpc.KindKeys, DType: m.DType, Matrix: m.number, Version: 1, Clock: int32(clock),
		Rows: matrix.Range{Hi: m.Rows}, Cols: m.Rect().Cols, Keys: slices.Clone(keys),
	}
	slices.SortStableFunc(p.Keys, func(a, b int64) int { return cmp.Compare(m.parts.Of(a), m.parts.Of(b)) })
	for _, k := range p.Keys {
		id := uint32(m.parts.Of(k))
		if n := len(p.Groups); n == 0 || p.Groups[n-1].Partition != id {
			p.Groups = append(p.Groups, rpc.Group{Partition: id})
		}
		p.Groups[len(p.Groups)-1].Keys++
	}
	return p
}

// columns brings the same value for every row of each of the columns.
func (m *known) columns(clock int, of map[int64]float64) rpc.Part {
	var keys []int64
	for k := range of {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	p := m.keys(clock, keys...)
	var val []float64
	for _, k := range p.Keys {
		for range m.Rows {
			val = append(val, of[k])
		}
	}
	p.Values = m.bytes(val)
	return p
}

// stored asks for all stored columns of a partition.
func (m *known) stored(clock, partition int) rpc.Part {
	at := m.parts.At(partition)
	return rpc.Part{
		Kind: rpc.KindStored, DType: m.DType, Matrix: m.number, Version: 1, Clock: int32(clock), Rows: at.Rows, Cols: at.Cols,
		Groups: []rpc.Group{{Partition: uint32(partition)}},
	}
}

// all asks for everything that the first server has of a matrix, partition by partition.
func (m *known) all(clock int) (parts []rpc.Part) {
	for _, id := range m.parts.Owned(0) {
		if m.Layout == matrix.RowSparse {
			parts = append(parts, m.stored(clock, id))
		} else {
			parts = append(parts, m.at(clock, m.parts.At(id)))
		}
	}
	return parts
}

// bytes is values of the matrix's type.
func (m *known) bytes(val []float64) []byte {
	switch m.DType {
	case matrix.F32:
		out := make([]float32, len(val))
		for i, v := range val {
			out[i] = float32(v)
		}
		return wire.View(out)
	case matrix.I64:
		out := make([]int64, len(val))
		for i, v := range val {
			out[i] = int64(v)
		}
		return wire.View(out)
	}
	return wire.View(slices.Clone(val))
}

// numbers is the values of parts.
func numbers(parts []rpc.Part) (out []float64) {
	for i := range parts {
		switch p := &parts[i]; p.DType {
		case matrix.F32:
			v, _ := wire.Numbers[float32](p.Values)
			for _, x := range v {
				out = append(out, float64(x))
			}
		case matrix.I64:
			v, _ := wire.Numbers[int64](p.Values)
			for _, x := range v {
				out = append(out, float64(x))
			}
		default:
			v, _ := wire.Numbers[float64](p.Values)
			out = append(out, v...)
		}
	}
	return out
}

// spec is a matrix of f64.
func spec(name string, rows, cols int64, layout matrix.Layout) rpc.Spec {
	return rpc.Spec{Meta: matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F64, Layout: layout}}
}

// one is a dense matrix of f64 in one partition.
func one(name string, rows, cols int64) rpc.Spec {
	s := spec(name, rows, cols, matrix.RowDense)
	s.Meta.BlockCols = cols
	return s
}

// with is the spec with a rule.
func with(s rpc.Spec, rule string) rpc.Spec {
	s.Meta.Rule = rule
	return s
}

// under is the spec with a bound of its own.
func under(s rpc.Spec, bound ssp.Bound) rpc.Spec {
	s.Bound = &bound
	return s
}

// arg is the settings of a control operation.
func arg(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
