package server_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// wirePage is the page about the protocol.
func wirePage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/format/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pageArguments are the page's examples of a name, as they stand there.
func pageArguments(t *testing.T, name string) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```json "+name+"\n(.*?)```").FindAllStringSubmatch(wirePage(t), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("the page has no example of %q", name)
	}
	return all
}

// pageArgument is the text of an example, changed if change is not nil.
func pageArgument[T any](t *testing.T, text string, change func(a *T)) []byte {
	t.Helper()
	if change == nil {
		return []byte(text)
	}
	var a T
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	change(&a)
	return arg(a)
}

// pageRows are the first columns of a table of the page, whose head begins with title, without quotes.
func pageRows(t *testing.T, title string) (rows [][]string) {
	t.Helper()
	_, after, ok := strings.Cut(wirePage(t), "\n| "+title+" |")
	if !ok {
		t.Fatalf("the page has no table that begins with %q", title)
	}
	table, _, _ := strings.Cut(after, "\n\n")
	for _, line := range strings.Split(table, "\n")[2:] {
		var row []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), " | ") {
			row = append(row, strings.NewReplacer("`", "", `"`, "").Replace(strings.TrimSpace(cell)))
		}
		rows = append(rows, row)
	}
	return rows
}

// TestPageAccepted: two servers accept the arguments that the page gives as examples, in the order of the page, and the answer to
// create is the page's.
func TestPageAccepted(t *testing.T) { bubble(t, "page", testPageAccepted) }

func testPageAccepted(t *testing.T) {
	bucket := &blob.Mem{}
	var conns []*conn
	role := &passing{}
	role.left.Store(math.MaxInt64)
	for range 2 {
		conns = append(conns, serve(t, func(s *server.Server) { s.Bucket, s.Role = bucket, role }).dial())
	}
	// one has the page's argument, which is for server 1, accepted by that one.
	one := func(op rpc.Op, seq uint64, text []byte) *rpc.Response {
		t.Helper()
		return conns[1].must(rpc.Request{Op: op, Seq: seq, Arg: text})
	}
	join := pageArguments(t, "join")[0]
	conns[0].must(rpc.Request{Op: rpc.OpJoin, Arg: []byte(join)})
	one(rpc.OpJoin, 0, []byte(join))
	one(rpc.OpMembers, 0, pageArgument(t, pageArguments(t, "members")[0], func(a *rpc.Members) { a.Joined = 0 })) // one is new

	create := pageArguments(t, "create")[0]
	conns[0].must(rpc.Request{Op: rpc.OpCreate, Arg: pageArgument(t, create, func(a *rpc.Create) { a.Index = 0 })})
	var made, page rpc.Created
	err := json.Unmarshal(one(rpc.OpCreate, 0, []byte(create)).Results[0].Data, &made)
	if err == nil {
		err = json.Unmarshal([]byte(pageArguments(t, "created")[0]), &page)
	}
	if err != nil || len(made.Maps) != 1 || len(page.Maps) != 1 {
		t.Fatalf("created: error %v, the server answers %+v, the page has %+v", err, made, page)
	}
	var maps [2]part.Map
	for i, c := range []rpc.Created{made, page} {
		if err := json.Unmarshal(c.Maps[0], &maps[i]); err != nil {
			t.Fatal(err)
		}
	}
	made.Maps, page.Maps = nil, nil
	if !reflect.DeepEqual(made, page) || !reflect.DeepEqual(maps[0], maps[1]) {
		t.Errorf("created: the server answers %+v %+v, the page has %+v %+v", made, maps[0], page, maps[1])
	}

	saves := pageArguments(t, "save")
	if len(saves) != 3 {
		t.Fatalf("%d examples of a save, want a rehearsal, a save and its commit", len(saves))
	}
	conns[0].must(rpc.Request{Op: rpc.OpSave, Arg: pageArgument(t, saves[0], func(a *rpc.Save) { a.Index = 0 })})
	one(rpc.OpSave, 0, []byte(saves[0]))
	one(rpc.OpCommit, 0, []byte(saves[0]))
	one(rpc.OpAbort, 0, []byte(saves[0]))
	var parts [][]byte
	for _, c := range conns {
		for _, r := range c.must(rpc.Request{Op: rpc.OpSave, Arg: []byte(saves[1])}).Results {
			parts = append(parts, r.Data)
		}
	}
	one(rpc.OpCommit, 0, pageArgument(t, saves[2], func(a *rpc.Save) { a.Parts = parts }))
	conns[0].must(rpc.Request{Op: rpc.OpAbort, Arg: []byte(saves[2])})
	increment := pageArguments(t, "increment")[0]
	base := pageArgument(t, increment, func(a *rpc.Save) { a.Path, a.Stage, a.Base = a.Base, "7RKD", "" })
	for _, text := range []string{string(base), increment} {
		var parts [][]byte
		for i, c := range conns {
			q := rpc.Request{Op: rpc.OpSave, Arg: pageArgument(t, text, func(a *rpc.Save) { a.Index = i }), Parts: []rpc.Part{{Matrix: 1}}}
			parts = append(parts, c.must(q).Results[0].Data)
		}
		one(rpc.OpCommit, 0, pageArgument(t, text, func(a *rpc.Save) { a.Parts = parts }))
	}
	one(rpc.OpLoad, 1, []byte(pageArguments(t, "load")[0]))
	var looked, pageLooked rpc.Looked
	err = json.Unmarshal(one(rpc.OpLook, 0, []byte(pageArguments(t, "look")[0])).Results[0].Data, &looked)
	if err == nil {
		err = json.Unmarshal([]byte(pageArguments(t, "looked")[0]), &pageLooked)
	}
	if err != nil || looked != pageLooked {
		t.Errorf("looked: error %v, the server answers %+v, the page has %+v", err, looked, pageLooked)
	}
}

// TestPageNames: the page has every layout, bound, partitioner, kind of initial values and choice for values that are not finite, by
// the number or name with which a server accepts it, and no other.
func TestPageNames(t *testing.T) {
	s := serve(t, nil)
	c := s.joinAs(rpc.Join{Job: "names", Tasks: 1})
	made := 0
	accepted := func(change func(spec *rpc.Spec)) bool {
		made++
		spec := rpc.Spec{Meta: matrix.Meta{Name: strconv.Itoa(made), Rows: 1, Cols: 8, DType: matrix.F32, Layout: matrix.RowSparse}}
		change(&spec)
		_, err := c.ask(rpc.Request{Op: rpc.OpCreate, Arg: arg(rpc.Create{Matrices: []rpc.Spec{spec}, Servers: 1})})
		return err == nil
	}
	for _, row := range pageRows(t, "layout") {
		n, err := strconv.Atoi(row[0])
		if err != nil || matrix.Layout(n).String() != row[1] {
			t.Errorf("layout %s is %v, the page says %s", row[0], matrix.Layout(n), row[1])
		}
	}
	for _, row := range pageRows(t, "bound") {
		n, err := strconv.Atoi(row[0])
		if err != nil {
			n, row[1] = 7, "SSP(7)"
		}
		b := ssp.Bound(n)
		if b.String() != row[1] || !accepted(func(spec *rpc.Spec) { spec.Bound = &b }) {
			t.Errorf("bound %s is %v, the page says %s", row[0], b, row[1])
		}
	}
	below := ssp.Bound(-1)
	if accepted(func(spec *rpc.Spec) { spec.Bound = &below }) {
		t.Errorf("a bound of -1 is accepted, the page says that it is not")
	}
	for _, partitioner := range part.Partitioners() {
		if !has(pageRows(t, "partitioner"), partitioner.Name) {
			t.Errorf("the page has no partitioner %s", partitioner.Name)
		}
	}
	for _, row := range pageRows(t, "partitioner") {
		if !accepted(func(spec *rpc.Spec) { spec.Partitioner = row[0] }) {
			t.Errorf("partitioner %q is refused", row[0])
		}
	}
	for _, row := range pageRows(t, "kind of initial values") {
		if !accepted(func(spec *rpc.Spec) { spec.Meta.Init = matrix.Init{Kind: row[0], Scale: 1} }) {
			t.Errorf("initial values %q are refused", row[0])
		}
	}
	for i, row := range pageRows(t, "nonfinite") {
		name, _, _ := strings.Cut(row[0], ",")
		if name != rpc.NonFinite(i).String() || !accepted(func(spec *rpc.Spec) { spec.NonFinite = name }) {
			t.Errorf("nonfinite %q is refused, or not choice %d", name, i)
		}
	}
	if n := rpc.NonFinite(len(pageRows(t, "nonfinite"))); n.String() != "unknown" {
		t.Errorf("the page has no choice %v", n)
	}
}

// has reports whether a row begins with the name.
func has(rows [][]string, name string) bool {
	for _, row := range rows {
		if row[0] == name {
			return true
		}
	}
	return false
}
