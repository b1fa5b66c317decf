package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/part"
	"thole.example/ssp"
	"thole.example/wire"
)

// TestBytes holds a record to its bytes, worked out by hand from the package comment.
func TestBytes(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	p := Partition{Matrix: "w", ID: 1, At: matrix.At(0, 1, 0, 2), DType: matrix.I32, Steps: 7}
	b := Band{Values: []matrix.Block{{At: p.At, Data: &matrix.Dense[int32]{Val: []int32{7, -1}}}}}
	if err := errors.Join(w.Begin(p), w.Band(b), w.End()); err != nil {
		t.Fatal(err)
	}
	got := out.Bytes()
	head := `{"matrix":"w","partition":1,"rows":[0,1],"cols":[0,2],"type":"i32","steps":7}`
	want := []byte("THOLEST\x01")
	frame := func(kind byte, crc [4]byte, body string) {
		want = append(append(append(want, kind, 0, 0, 0), crc[:]...), byte(len(body)), 0, 0, 0, 0, 0, 0, 0)
		want = append(append(want, body...), make([]byte, (8-len(body)%8)%8)...)
	}
	sum := func(i int) [4]byte { return [4]byte(got[i+4:]) } // its definition is tested by TestChecksum
	frame(1, sum(8), head)
	cells := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01\x07\x07\x00\x00\x00\xff\xff\xff\xff"
	frame(3, sum(len(want)), cells)
	frame(4, sum(len(want)), `{"count":2}`)
	if !bytes.Equal(got, want) {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	if w.Off() != int64(len(want)) {
		t.Errorf("%d bytes, want %d", w.Off(), len(want))
	}
}

// TestChecksum: "123456789" is the usual example of CRC32C, 0xe3069283; here it begins with the kind and the length.
func TestChecksum(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	// Kind "1234" and a length of 8 bytes cannot be those of the example, so the sum is made bit by bit.
	if err := w.frame(kindEnd, []byte("12"), []byte("345")); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()[len(magic):]
	crc := ^uint32(0)
	for _, c := range slices.Concat(b[:4], b[8:16], []byte("12345")) {
		crc ^= uint32(c)
		for range 8 {
			crc = crc>>1 ^ 0x82f63b78*(crc&1)
		}
	}
	if got := wire.Little.Uint32(b[4:]); got != ^crc || len(b) != 24 {
		t.Errorf("checksum %08x of %d bytes, want %08x", got, len(b), ^crc)
	}
}

// drawn is a partition with its columns or cells, in bands of any size.
func drawn(t *rapid.T) (Partition, []Band) {
	p := Partition{
		Matrix: "m", DType: rapid.SampledFrom([]matrix.DType{matrix.F32, matrix.F64, matrix.I32, matrix.I64}).Draw(t, "type"),
		Sparse: rapid.Bool().Draw(t, "sparse"), Slots: rapid.IntRange(0, 3).Draw(t, "slots"), Steps: rapid.Int64Range(0, 1<<40).Draw(t, "steps"),
	}
	p.At = matrix.At(2, 2+rapid.Int64Range(0, 4).Draw(t, "rows"), -5, -5+rapid.Int64Range(0, 60).Draw(t, "cols"))
	random := func(b matrix.Block) matrix.Block {
		v, _ := wire.ViewAny(b.Data.Values())
		for i := range v {
			v[i] = byte(i*7 + i>>3)
		}
		return b
	}
	p.Partial = rapid.Bool().Draw(t, "partial")
	var bands []Band
	n := rapid.IntRange(1, 40).Draw(t, "band")
	if p.Sparse {
		if p.Bits = rapid.IntRange(0, 3).Draw(t, "bits"); p.Bits > 0 {
			p.ID = rapid.IntRange(0, 1<<p.Bits-1).Draw(t, "id")
		}
		var keys []int64
		for c := p.At.Cols.Lo; c < p.At.Cols.Hi; c++ {
			if p.Bits == 0 || kernel.Hash(uint64(c))>>(64-p.Bits) == uint64(p.ID) {
				keys = append(keys, c)
			}
		}
		slices.SortFunc(keys, func(a, b int64) int { return cmp.Compare(kernel.Hash(uint64(a)), kernel.Hash(uint64(b))) })
		p.Aged, p.Ranked = rapid.Bool().Draw(t, "aged"), rapid.Bool().Draw(t, "ranked")
		ranks := func(n int) (all []uint8) {
			for i := 0; p.Ranked && i < n; i++ {
				all = append(all, uint8(i*5%64))
			}
			return all
		}
		steps := func(n int) (all []int64) {
			for i := range int64(n) {
				all = append(all, p.Steps-min(p.Steps, i*i))
			}
			return all
		}
		rates := make([]float64, rapid.Int64Range(0, min(p.Steps, 9)).Draw(t, "rates"))
		if p.Stale = rapid.Bool().Draw(t, "stale"); p.Stale && len(rates) > 0 {
			for i := range rates {
				rates[i] = 1 / float64(1+i)
			}
			bands = append(bands, Band{Rates: rates})
		}
		waiting := keys[:rapid.IntRange(0, len(keys)).Draw(t, "candidates")]
		for some := range slices.Chunk(keys[len(waiting):], n) {
			bands = append(bands, Band{Keys: some, Values: []matrix.Block{random(matrix.NewDense(p.DType, matrix.At(0, int64(len(some)), 0, p.Width())))}})
			bands[len(bands)-1].Ranks = ranks(len(some))
			if p.Aged {
				bands[len(bands)-1].Last = steps(len(some))
			}
			for i := range some {
				if p.Stale {
					b := &bands[len(bands)-1]
					b.Stamps = append(b.Stamps, p.Steps-int64(i%(1+len(rates))))
				}
			}
		}
		for some := range slices.Chunk(waiting, n) {
			b := Band{Keys: some, Last: steps(len(some)), Ranks: ranks(len(some))}
			for i := range some {
				b.Counts = append(b.Counts, int64(1+i*100))
			}
			bands = append(bands, b)
		}
		if p.Partial {
			for some := range slices.Chunk(keys, n+1) {
				bands = append(bands, Band{Removed: some})
			}
		}
		return p, bands
	}
	for at := range format.Bands(p.At, int64(n)) {
		if p.Partial && rapid.Bool().Draw(t, "unchanged") {
			continue
		}
		var b Band
		for range 1 + p.Slots {
			b.Values = append(b.Values, random(matrix.NewDense(p.DType, at)))
		}
		bands = append(bands, b)
	}
	return p, bands
}

func write(t interface{ Fatal(...any) }, w *Writer, p Partition, bands []Band) {
	err := w.Begin(p)
	for _, b := range bands {
		err = errors.Join(err, w.Band(b))
	}
	if err = errors.Join(err, w.End()); err != nil {
		t.Fatal(err)
	}
}

// text is bands with the bits of their values.
func text(all []Band) (out string) {
	for _, b := range all {
		out += fmt.Sprintf("%v %v %v %v %v %v %v %v\n", b.Keys, b.Keys == nil, b.Last, b.Counts, b.Removed, b.Ranks, b.Stamps, b.Rates)
		for _, v := range b.Values {
			raw, _ := wire.ViewAny(v.Data.Values())
			out += fmt.Sprintf("%v %v %x\n", v.At, v.Data.DType(), raw)
		}
	}
	return out
}

// TestRoundTrip: what is written is read, record after record.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		w := NewWriter(&out)
		n := rapid.IntRange(1, 3).Draw(t, "records")
		ps, all := make([]Partition, n), make([][]Band, n)
		for i := range n {
			ps[i], all[i] = drawn(t)
			write(t, w, ps[i], all[i])
		}
		r, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			p, err := r.Partition()
			if err != nil || p != ps[i] {
				t.Fatalf("%+v: %v, want %+v", p, err, ps[i])
			}
			got := ""
			for b, err := range r.Bands(&p) {
				if err != nil {
					t.Fatal(err)
				}
				got += text([]Band{b})
			}
			if want := text(all[i]); got != want {
				t.Fatalf("record %d:\n%s\nwant\n%s", i, got, want)
			}
		}
		if r.More() {
			t.Fatal("bytes are left")
		}
	})
}

// busy is a job with deltas that are not yet due, refusals and a task that went away.
func busy(t *testing.T) *ssp.Job[Delta, int] {
	t.Helper()
	j := ssp.NewJob[Delta, int]("job \"j\"")
	step := func(e ssp.Event) { j.Step(5, e) }
	for task := range 3 {
		step(ssp.Join[int]{Conn: int64(task + 1), Task: task, Tasks: 3, Bound: 2, Client: fmt.Sprint("c", task), Grace: 1e9, Lease: 3e9,
			Plan: "rule=adam", Worker: "w", Mine: []int{task}, Optional: task == 2})
	}
	step(ssp.Create[int]{Conn: 1, Matrices: []ssp.Matrix{{ID: 1, Name: "w", Rule: true}, {ID: 2, Name: "v", Own: true}}})
	keyed := Delta{Rows: matrix.Range{Hi: 2}, Cols: matrix.Range{Lo: -4, Hi: 90}, Keys: []int64{80, -3}, DType: matrix.F32,
		Values: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}
	cells := Delta{Rows: matrix.Range{Lo: 3, Hi: 4}, Cols: matrix.Range{Lo: 5, Hi: 7}, DType: matrix.F64, Values: bytes.Repeat([]byte{7}, 16)}
	none := Delta{Rows: matrix.Range{Hi: 2}, Cols: matrix.Range{Hi: 9}, Keys: []int64{}, DType: matrix.I64}
	for clock := range 2 {
		for task := range 2 - clock {
			step(ssp.Push[Delta, int]{Req: 1, Conn: int64(task + 1), Seq: uint64(clock + 1),
				Deltas: []ssp.Delta[Delta]{{Matrix: 1, Clock: clock, Data: keyed}, {Matrix: 2, Clock: clock, Data: cells}, {Matrix: 1, Clock: clock, Data: none}},
				Ticks:  []ssp.Tick{{Clock: clock}, {Matrix: 1, Clock: clock, Weight: 3, Rate: 0.1}, {Matrix: 2, Clock: clock}}})
		}
	}
	step(ssp.Push[Delta, int]{Req: 1, Conn: 2, Seq: 2, Ticks: []ssp.Tick{{Clock: 9}}}) // refused
	step(ssp.Gone{Conn: 3})
	return j
}

// values lends a delta.
func values(d Delta, with bool, f func(Delta) error) error {
	if !with {
		d.Values = nil
	}
	return f(d)
}

// TestJob: the state of a job comes back as it was, and a job made of it does the same as the one it was taken of.
func TestJob(t *testing.T) {
	j := busy(t)
	s := j.State()
	var out bytes.Buffer
	if err := Job(NewWriter(&out), &s, values); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Job()
	if err != nil || r.More() {
		t.Fatal(err, r.More())
	}
	for i := range got.Matrices {
		for k := range got.Matrices[i].Staged {
			if d := &got.Matrices[i].Staged[k].Delta; len(d.Values) == 0 {
				d.Values = nil
			}
		}
	}
	if !reflect.DeepEqual(*got, s) {
		t.Fatalf("read\n%+v\nwant\n%+v", *got, s)
	}
	if len(s.Matrices[1].Staged) != 9 || len(s.Members[1].Refused) != 1 {
		t.Fatalf("the job is not busy: %+v", s)
	}
	twin, err := ssp.FromState[Delta, int](*got, 5)
	if err != nil {
		t.Fatal(err)
	}
	for task := range 2 {
		j.Step(5, ssp.Gone{Conn: int64(task + 1)})
	}
	for task := range 3 {
		back := ssp.Join[int]{Conn: int64(task + 10), Task: task, Tasks: 3, Bound: 2, Client: fmt.Sprint("c", task), Epoch: 1, Grace: 1e9,
			Lease: 3e9, Plan: "rule=adam", Worker: "w", Mine: []int{task}, Optional: task == 2}
		if a, b := fmt.Sprintf("%+v", j.Step(6, back)), fmt.Sprintf("%+v", twin.Step(6, back)); a != b {
			t.Errorf("task %d comes back: %s, and to the twin: %s", task, a, b)
		}
	}
	last := ssp.Push[Delta, int]{Req: 1, Conn: 12, Seq: 1, Ticks: []ssp.Tick{{Matrix: 1, Weight: 1, Rate: 0.3}, {Matrix: 2}}}
	a, b := fmt.Sprintf("%+v", j.Step(7, last)), fmt.Sprintf("%+v", twin.Step(7, last))
	if a != b || strings.Count(a, "Weight:7") != 1 {
		t.Errorf("the clock ends with\n%s\nand that of the twin with\n%s", a, b)
	}
	if !reflect.DeepEqual(j.State(), twin.State()) {
		t.Error("the states differ in the end")
	}
}

// sample is a checkpoint of two servers in a bucket.
func sample(t testing.TB, b blob.Bucket, at string) {
	t.Helper()
	sampleAs(t, b, at, 1, Checkpoint{})
}

// sampleAs is a sample with other values than those of another number, and what is said of its head. As an increment it has changed
// the first row of the dense matrix, and of each sparse partition it has removed the first column and changed the second.
func sampleAs(t testing.TB, b blob.Bucket, at string, n byte, of Checkpoint) {
	t.Helper()
	ctx := context.Background()
	j := ssp.NewJob[Delta, int]("j")
	j.Step(0, ssp.Join[int]{Tasks: 1, Client: "c"})
	s := j.State()
	head := &of
	head.Job, head.Clock, head.Loose = "j", 3, []string{"job.yaml"}
	for _, m := range []matrix.Meta{
		{Name: "d", Rows: 2, Cols: 5, DType: matrix.F32, Rule: "adagrad", Hyper: map[string]float64{"epsilon": 0.5}},
		{Name: "s", Rows: 1, Cols: 40, DType: matrix.F64, Layout: matrix.RowSparse, Labels: nil, Attrs: map[string]string{"a": "b"}},
	} {
		cut, err := part.Lookup("", &m)
		if err != nil {
			t.Fatal(err)
		}
		mp, err := part.NewMap(&m, cut, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		head.Matrices = append(head.Matrices, Matrix{Meta: m, Partitioner: cut.Name, Map: mp, Clock: 3})
	}
	var parts []Part
	var first *Save
	for server := range 2 {
		save, err := Create(ctx, b, at, "stage", blob.Anything)
		if err != nil {
			t.Fatal(err)
		}
		p := Part{Server: server, Base: head.Base.ID}
		p.File, err = save.File(ctx, server, func(w *Writer) error {
			for i := range head.Matrices {
				m := &head.Matrices[i]
				for _, id := range m.Map.Owned(server) {
					off := w.Off()
					stored := sampleRecord(t, w, m, id, n, !head.Whole())
					p.Records = append(p.Records, Record{m.Meta.Name, id, Extent{Off: off, Size: w.Off() - off, Steps: 4, Columns: w.Columns(),
						Candidates: w.Candidates(), Stored: stored, Sum: w.Sum()}})
				}
			}
			return nil
		}, func(w *Writer) error { return Job(w, &s, values) })
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
		first = cmp.Or(first, save)
	}
	if err := first.Loose(ctx, "job.yaml", fmt.Appendf(nil, "seed: %d\n", n)); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(ctx, head, parts, 2); err != nil {
		t.Fatal(err)
	}
	first.Abort(ctx)
}

// sampleRecord writes a partition of the sample, whose first value in each band is n. It answers how many columns there are, if it is partial.
func sampleRecord(t testing.TB, w *Writer, m *Matrix, id int, n byte, partial bool) (stored int64) {
	p := Partition{Matrix: m.Meta.Name, ID: id, At: m.Map.At(id), Sparse: m.Map.Bits > 0, Bits: m.Map.Bits, DType: m.Meta.DType, Steps: 4,
		Partial: partial}
	values := func(at matrix.Rect) matrix.Block {
		b := matrix.NewDense(p.DType, at)
		raw, _ := wire.ViewAny(b.Data.Values())
		raw[0] = n
		return b
	}
	if !p.Sparse {
		p.Slots = 1
		at := p.At
		if partial {
			at.Rows.Hi = 1
		}
		var bands []Band
		if !at.Empty() {
			bands = []Band{{Values: []matrix.Block{values(at), values(at)}}}
		}
		write(t, w, p, bands)
		return 0
	}
	var keys []int64
	for c := range m.Meta.Cols {
		if m.Map.Of(c) == id {
			keys = append(keys, c)
		}
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Compare(kernel.Hash(uint64(a)), kernel.Hash(uint64(b))) })
	columns := func(keys []int64) (bands []Band) {
		if len(keys) > 0 {
			bands = []Band{{Keys: keys, Values: []matrix.Block{values(matrix.At(0, int64(len(keys)), 0, 1))}}}
		}
		return bands
	}
	if !partial {
		write(t, w, p, columns(keys))
		return 0
	}
	first := keys[:min(1, len(keys))]
	bands := columns(keys[len(first):min(2, len(keys))])
	if len(first) > 0 {
		bands = append(bands, Band{Removed: first})
	}
	write(t, w, p, bands)
	return int64(len(keys) - len(first))
}

// readAll reads everything of a checkpoint, and counts its columns and cells.
func readAll(b blob.Bucket, at string) (n int, err error) {
	ctx := context.Background()
	in, err := NewInput(ctx, b, at)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	for i := range in.Matrices {
		for id := range in.Matrices[i].Records {
			err := in.Record(ctx, &in.Matrices[i], id, func(_ *Partition, b Band) error {
				n += b.Values[0].Data.NNZ()
				return nil
			})
			if err != nil {
				return n, err
			}
		}
	}
	for server := range in.Files {
		if _, err := in.Job(ctx, server); err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestDamage: a bit that is not what it was, a byte that is missing and one too many are found, wherever they are, and the
// error names the file and the byte.
func TestDamage(t *testing.T) {
	sound := &blob.Mem{}
	sample(t, sound, "dir/c")
	if n, err := readAll(sound, "dir/c"); n != 50 || err != nil {
		t.Fatalf("%d values, want 50: %v", n, err)
	}
	for _, object := range []string{"checkpoint", "server.0", "server.1"} {
		ctx, name := t.Context(), path.Join("dir/c", object)
		data, err := blob.ReadAll(ctx, sound, name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, bad []byte) {
			t.Helper()
			b := &blob.Mem{}
			sample(t, b, "dir/c")
			if err := blob.WriteAll(ctx, b, name, bad); err != nil {
				t.Fatal(err)
			}
			_, err := readAll(b, "dir/c")
			corrupt := errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrVersion)
			if !corrupt || !strings.HasPrefix(err.Error(), "checkpoint: "+name) || len(bad) == len(data) && !strings.Contains(err.Error(), " at byte ") {
				t.Errorf("%s: %s: %v", object, what, err)
			}
		}
		for i := 0; i < len(data); i += 1 + i/97 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << (i % 8)
			refused(fmt.Sprintf("bit %d of byte %d", i%8, i), bad)
		}
		refused("a byte more", append(bytes.Clone(data), 0))
		for _, n := range []int{0, 7, 8, 20, len(data) / 2, len(data) - 1} {
			refused(fmt.Sprintf("%d bytes", n), data[:n])
		}
		b := &blob.Mem{}
		sample(t, b, "dir/c")
		if err := b.Remove(ctx, name); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(b, "dir/c"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is missing: %v", object, err)
		}
	}
}
