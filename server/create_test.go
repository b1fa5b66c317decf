package server_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// TestCreateMaps: a task that has computed the routing map is not told it; one that has another, or says nothing, is.
func TestCreateMaps(t *testing.T) {
	bubble(t, "maps", func(t *testing.T) {
		s := serve(t, nil)
		meta := matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}
		cut, err := part.Lookup("hash", &meta)
		if err != nil {
			t.Fatal(err)
		}
		m, err := part.NewMap(&meta, cut, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		other := strings.Repeat("0", len(m.Digest()))
		for task, c := range []struct {
			maps []string
			told bool
		}{{[]string{m.Digest()}, false}, {[]string{m.Digest()}, false}, {[]string{other}, true}, {nil, true}} {
			conn := s.dial()
			conn.must(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: "j", Task: task, Tasks: 4})})
			create := rpc.Create{Matrices: []rpc.Spec{{Meta: meta, Partitioner: "hash"}}, Servers: 200, Index: 7, Maps: c.maps}
			var made rpc.Created
			if err := json.Unmarshal(conn.must(rpc.Request{Op: rpc.OpCreate, Arg: arg(create)}).Results[0].Data, &made); err != nil {
				t.Fatal(err)
			}
			switch {
			case !c.told && made.Maps == nil:
			case !c.told || len(made.Maps) != 1:
				t.Errorf("task %d with digests %q is told %d maps, want one: %v", task, c.maps, len(made.Maps), c.told)
			case string(made.Maps[0]) != string(arg(m)):
				t.Errorf("task %d is told the map %s, want %s", task, made.Maps[0], arg(m))
			}
		}
	})
}

// TestOneOfMany: what a step takes of memory does not grow with the partitions that other servers have. Under ASP each task's tick is one.
func TestOneOfMany(t *testing.T) {
	perStep := func(servers int) uint64 {
		const steps = 200
		c := serve(t, nil).dial()
		c.must(rpc.Request{Op: rpc.OpJoin, Arg: arg(rpc.Join{Job: "j", Tasks: 1, Bound: ssp.ASP})})
		w := c.createOn(servers, rpc.Spec{Partitioner: "hash",
			Meta: matrix.Meta{Name: "w", Rows: 1, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "sgd"}})[0]
		key := int64(0)
		for w.parts.Owners[w.parts.Of(key)] != 0 {
			key++
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for clock := range steps {
			if _, err := c.push([]rpc.Part{w.columns(clock, map[int64]float64{key: 1})}, w.tick(clock, 1, 0.1)).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / steps
	}
	if alone, many := perStep(1), perStep(1024); many > 2*alone {
		t.Errorf("a step takes %d bytes on one server, and %d on one of 1,024, want no more", alone, many)
	}
}
