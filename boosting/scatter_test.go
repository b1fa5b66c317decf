package boosting

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"

	"thole.example/gbdt"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/tree"
)

// pair is two rows of a number.
type pair struct{}

func (pair) Len() int                { return 2 }
func (pair) Features() tree.Features { return tree.Features{Width: 1} }
func (pair) Missing(int) bool        { return false }
func (pair) Read(lo, hi int, into *gbdt.Block) {
	for i := lo; i < hi; i++ {
		into.Feature, into.Value = append(into.Feature, 0), append(into.Value, float64(i+1))
		into.Ptr = append(into.Ptr, len(into.Feature))
	}
}

// setup is that of the pair, and its rows.
func setup(t testing.TB) (*gbdt.Setup, *gbdt.Binned, *gbdt.Labels) {
	t.Helper()
	b, err := gbdt.Bin(context.Background(), pair{}, nil, 255, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := gbdt.Defaults()
	if c.Objective, err = gbdt.FindObjective("l2"); err != nil {
		t.Fatal(err)
	}
	y := &gbdt.Labels{Label: []float32{3, 4}}
	s, err := gbdt.NewSetup(b.Layout, y, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, b, y
}

// two are the workers of a job of two tasks.
func two(t *testing.T) (all [2]*Workers) {
	t.Helper()
	funcs, err := psf.NewTable(append(psf.Funcs(), gbdt.Funcs()...), nil)
	if err != nil {
		t.Fatal(err)
	}
	net := &mem.Network{}
	l, err := net.Listen(t.Context(), "s", &server.Server{Funcs: funcs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for task := range all {
		c, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Task: task, Tasks: 2, Funcs: funcs})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if all[task], err = Join(t.Context(), c, task, 2); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestSent: what is sent comes as it was, whatever its length, to who receives it, also after others let something pass.
func TestSent(t *testing.T) {
	w := two(t)
	var group sync.WaitGroup
	lengths := []int{1, 16, stepBytes - 1, stepBytes, 7, stepBytes + 1, 2*stepBytes + 13, 8}
	made := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i*n>>3 + i)
		}
		return b
	}
	group.Go(func() {
		for _, n := range lengths {
			if err := w[0].sendBytes(t.Context(), made(n)); err != nil {
				t.Error(err)
			}
		}
	})
	for i, n := range lengths {
		if i%3 == 1 {
			if err := w[1].skipBytes(t.Context(), int64(n)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var last int64
		got, err := w[1].receiveBytes(t.Context(), int64(n), func(done, total int64) {
			if last = done; total != int64(n) {
				t.Errorf("%d of %d bytes, want them of %d", done, total, n)
			}
		})
		if err != nil || !bytes.Equal(got, made(n)) || last != int64(n) {
			t.Errorf("%d bytes came as others, as %d, the last told of %d: %v", n, len(got), last, err)
		}
	}
	group.Wait()
}

// TestScatterDamaged: what came with another checksum is refused, and so is what is no Scatter.
func TestScatterDamaged(t *testing.T) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	s, b, y := setup(t)
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	all := []byte(`{"Setup":` + string(text) + `,"Shards":[{"Task":1,"Lo":0,"Hi":2}]}`)
	others := bytes.Replace(all, []byte(`"Task":1`), []byte(`"Task":7`), 1)
	head := func(text []byte, flip uint64) []byte {
		h := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
		return binary.LittleEndian.AppendUint64(h, uint64(crc32.Checksum(text, castagnoli))^flip)
	}
	rows := s.Pack(nil, b, y)
	rows = binary.LittleEndian.AppendUint32(rows, crc32.Checksum(rows, castagnoli))
	flipped := bytes.Clone(rows)
	flipped[0] ^= 1
	for _, c := range []struct {
		what string
		sent [][]byte
		want string
	}{
		{"as it should be", [][]byte{head(all, 0), all, rows}, ""},
		{"the setup", [][]byte{head(all, 1), all}, "another checksum"},
		{"the rows", [][]byte{head(all, 0), all, flipped}, "rows 0 to 2 came with another checksum"},
		{"the length", [][]byte{append(binary.LittleEndian.AppendUint64(nil, 1<<62), make([]byte, 8)...)}, "want at most"},
		{"rows of others", [][]byte{head(others, 0), others, rows}, "want one of task 1"},
		{"no JSON", [][]byte{head(all[:9], 0), all[:9]}, "unexpected end"},
	} {
		w := two(t)
		var group sync.WaitGroup
		group.Go(func() {
			for _, some := range c.sent {
				if err := w[0].sendBytes(t.Context(), some); err != nil {
					return // the other has gone
				}
			}
		})
		d, err := w[1].AwaitScatter(t.Context())
		if err == nil {
			_, _, err = w[1].Receive(t.Context(), d, 1, nil)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		w[1].client.Close()
		group.Wait()
	}
}

// TestScatterRefused: rows that are none, or twice.
func TestScatterRefused(t *testing.T) {
	s, _, _ := setup(t)
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for rows, want := range map[string]string{
		`[{"Task":1,"Lo":0,"Hi":2},{"Task":-1,"Lo":0,"Hi":0}]`: "",
		`[{"Task":1,"Lo":0,"Hi":3}]`:                           "rows 0 to 3 of task 1, want some of 2",
		`[{"Task":1,"Lo":-1,"Hi":1}]`:                          "rows -1 to 1",
		`[{"Task":1,"Lo":2,"Hi":1}]`:                           "rows 2 to 1",
		`[{"Task":-2,"Lo":0,"Hi":1}]`:                          "of task -2",
		`[{"Task":1,"Lo":0,"Hi":1},{"Task":1,"Lo":1,"Hi":2}]`:  "rows of task 1 twice",
	} {
		_, err := parseScatter([]byte(`{"Setup":` + string(text) + `,"Shards":` + rows + `}`))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", rows, err, want)
		}
	}
	grown := `{"Setup":` + string(text) + `,"Grown":{"Trees":7},"Shards":[]}`
	if _, err := parseScatter([]byte(grown)); err == nil || !strings.Contains(err.Error(), "trees to go on from") {
		t.Errorf("trees that are a number: %v", err)
	}
	if _, err := parseScatter([]byte(`{"Setup":{},"Shards":[]}`)); err == nil || !strings.Contains(err.Error(), "setup of a training") {
		t.Errorf("no setup: %v", err)
	}
}

// FuzzScatter: whatever task 0 tells, it is refused, or says of rows that there are.
func FuzzScatter(f *testing.F) {
	s, _, _ := setup(f)
	text, err := s.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"Setup":` + string(text) + `,"Shards":[{"Task":1,"Lo":0,"Hi":1},{"Task":2,"Lo":1,"Hi":2}]}`))
	f.Add([]byte(`{"Setup":` + string(text) + `,"Shards":[{"Task":-1,"Lo":0,"Hi":2}]}`))
	f.Add([]byte(`{"Setup":` + string(text) + `,"Grown":{"Trees":[{"Class":0,"LeafValue":[1]}],"Values":[null,1]},"Shards":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseScatter(text)
		if err != nil {
			return
		}
		for _, r := range d.Shards {
			if n := d.Setup.ShardLen(r.Hi - r.Lo); r.Hi > d.Setup.Layout.Rows() || n < int64(r.Hi-r.Lo) {
				t.Errorf("rows %+v of %d, in %d bytes", r, d.Setup.Layout.Rows(), n)
			}
		}
	})
}

// TestGathered: numbers of each step are those of that step, whatever cells had before, and of several steps.
func TestGathered(t *testing.T) {
	const long = sumsCols/2 + 3 // more than a task has cells for
	all := two(t)
	numbers := func(task, round int) []int64 {
		v := make([]int64, long>>round)
		for i := range v {
			v[i] = int64(i*round + 7*task - 9)
		}
		return v
	}
	var group sync.WaitGroup
	for task, w := range all {
		group.Go(func() {
			for round := range 3 {
				one, other, sum := numbers(0, round), numbers(1, round), numbers(task, round)
				gathered, err := w.Gather(t.Context(), numbers(task, round))
				if err != nil || len(gathered) != 2-2*task || task == 0 && !(slices.Equal(gathered[0], one) && slices.Equal(gathered[1], other)) {
					t.Errorf("round %d, task %d: others were gathered, %v", round, task, err)
				}
				each, err := w.AllGather(t.Context(), numbers(task, round))
				if err != nil || !slices.Equal(each[0], one) || !slices.Equal(each[1], other) {
					t.Errorf("round %d, task %d: others came to all, %v", round, task, err)
				}
				for i := range one {
					one[i] += other[i]
				}
				if err := w.Sum(t.Context(), sum); err != nil || !slices.Equal(sum, one) {
					t.Errorf("round %d, task %d: other sums, %v", round, task, err)
				}
			}
		})
	}
	group.Wait()
}
