package psf_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/shard"
)

// views is a matrix of one partition, with some stored columns.
func views(t testing.TB, m *matrix.Meta) psf.View {
	t.Helper()
	s, err := shard.New(m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	call, err := functions.Bind("put", []byte(`{"row":1,"values":[3,-1,0,2]}`), m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Part(s.View(0)); err != nil {
		t.Fatal(err)
	}
	return s.View(0)
}

// gets are the get functions, bound to a matrix.
func gets(t testing.TB, m *matrix.Meta) (names []string, calls []*psf.Call) {
	t.Helper()
	for _, f := range psf.Funcs() {
		call, err := functions.Bind(f.Name, []byte(textOf(t, rightArgs(&f))), m)
		if err != nil {
			t.Fatal(err)
		}
		if call.Merge != nil {
			names, calls = append(names, f.Name), append(calls, call)
		}
	}
	return names, calls
}

// FuzzMerge: what a server says that lies makes an error or some answer, never a panic, and takes no more memory than it sent, by
// some factor.
func FuzzMerge(f *testing.F) {
	metas := []*matrix.Meta{meta(matrix.F64, 0), meta(matrix.F32, 0), meta(matrix.I64, 0), meta(matrix.I32, 0)}
	calls := make([][]*psf.Call, len(metas))
	for i, m := range metas {
		_, calls[i] = gets(f, m)
		for k, call := range calls[i] {
			part, err := call.Part(views(f, m))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), uint8(k), part, part)
		}
	}
	f.Fuzz(func(t *testing.T, which, k uint8, a, b []byte) {
		some := calls[int(which)%len(calls)]
		call := some[int(k)%len(some)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer, err := call.Merge([][]byte{a, b})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+200*uint64(len(a)+len(b)) {
			t.Fatalf("%d bytes are allocated for %d", n, len(a)+len(b))
		}
		if err == nil && !json.Valid(answer) {
			t.Fatalf("answer %q is no JSON", answer)
		}
	})
}

// TestLies: answers that no partition gives are errors.
func TestLies(t *testing.T) {
	m := meta(matrix.F64, matrix.RowSparse)
	for _, c := range []struct{ name, arg, part, want string }{
		{"sum", ``, "", "a sum of 0 bytes"},
		{"sum", ``, "\x00\x00\x00\x00\x00x", "1 bytes after a sum"},
		{"max", ``, `{"stored":"x"}`, "want a number"},
		{"max", ``, `{"stored":null}`, "null"},
		{"max", ``, `{"absent":1,"value":null}`, "null"},
		{"max", ``, `{"absent":1}`, "no value of 1 absent columns"},
		{"max", ``, `[]`, "an answer"},
		{"topk", `{"k":1}`, `[{"row":0,"col":0,"value":1},{"row":0,"col":1,"value":1}]`, "2 cells, want at most 1"},
		{"topk", `{"k":1}`, `[{"row":0,"col":0}]`, "want a number"},
		{"topk", `{"k":1}`, `[{"row":2,"col":0,"value":1}]`, "row 2 column 0"},
		{"topk", `{"k":1}`, `[{"row":0,"col":10,"value":1}]`, "column 10"},
		{"histogram", `{"min":0,"max":1,"bins":2}`, `{"stored":[[5,1]]}`, "bin 5"},
		{"histogram", `{"min":0,"max":1,"bins":2}`, `{"stored":[[1,1],[1,1]]}`, "ascending"},
		{"quantiles", ``, `{"stored":[[4611686018427387904,-1]]}`, "-1 cells"},
		{"quantiles", ``, `{"absent":-1}`, "-1 absent columns"},
		{"quantiles", ``, `{"stored":[[9223372036854775807,1]]}`, "bin 9223372036854775807"},
	} {
		call, err := functions.Bind(c.name, []byte(c.arg), m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := call.Merge([][]byte{[]byte(c.part)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %q: %s, %v, want an error with %q", c.name, c.part, got, err, c.want)
		}
	}
}
