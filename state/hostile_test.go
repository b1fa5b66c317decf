package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ssp"
	"thole.example/wire"
)

// hostile is a stream of frames with right checksums, whatever is in them.
func hostile(frames func(w *Writer)) []byte {
	var out bytes.Buffer
	frames(NewWriter(&out))
	return out.Bytes()
}

// readStream reads whatever the stream has.
func readStream(data []byte) error {
	r, err := NewReader(bytes.NewReader(data), int64(len(data)))
	for err == nil && r.More() {
		begin := r.off
		k, _, _, nerr := r.next("frame")
		if nerr != nil {
			return nerr
		}
		if k == kindPartition || k == kindJob || k == kindCheckpoint {
			r.off = begin
		}
		switch k {
		case kindPartition:
			var p Partition
			if p, err = r.Partition(); err != nil {
				return err
			}
			for _, e := range r.Bands(&p) {
				err = e
			}
		case kindJob:
			var s *ssp.State[Delta]
			if s, err = r.Job(); err == nil {
				_, _ = ssp.FromState[Delta, int](*s, 0) // may refuse, must not panic
			}
		case kindCheckpoint:
			_, err = readCheckpoint(r)
		}
	}
	return err
}

// TestHostile: what cannot be is said, with the byte.
func TestHostile(t *testing.T) {
	sparse := Partition{Matrix: "s", ID: 1, At: matrix.At(0, 1, 0, 100), Sparse: true, DType: matrix.F64}
	cells := Partition{Matrix: "d", At: matrix.At(0, 2, 0, 3), DType: matrix.F64, Slots: 1}
	rows := func(n, width int64) matrix.Block { return matrix.NewDense(matrix.F64, matrix.At(0, n, 0, width)) }
	at := func(at matrix.Rect) matrix.Block { return matrix.NewDense(matrix.F64, at) }
	band := func(p Partition, bands ...Band) func(w *Writer) {
		return func(w *Writer) { write(t, w, p, bands) }
	}
	head := func(text string) func(w *Writer) {
		return func(w *Writer) { _ = w.frame(kindPartition, []byte(text)) }
	}
	hashed := sparse
	hashed.Bits = 4
	partial, some := sparse, cells
	partial.Partial, some.Partial = true, true
	aged := sparse
	aged.Aged, aged.Steps = true, 4
	ranked := sparse
	ranked.Ranked = true
	stale := sparse
	stale.Stale, stale.Steps = true, 4
	rates := Band{Rates: []float64{0.1, 0.2}}
	stamped := func(step int64) Band {
		return Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}, Stamps: []int64{step}}
	}
	for _, c := range []struct {
		name   string
		frames func(w *Writer)
		want   string
	}{
		{"no ranks", band(ranked, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}}), "block header needs"},
		{"too few ranks", band(ranked, Band{Keys: []int64{0, 29}, Values: []matrix.Block{rows(2, 1)}, Ranks: []uint8{1}}), "want a dense one of u8 at rows [0,2)"},
		{"key outside", band(sparse, Band{Keys: []int64{100}, Values: []matrix.Block{rows(1, 1)}}), "column 100, want one in [0,100)"},
		{"key twice", band(sparse, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}}, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}}), "column 7 after column 7"},
		{"key of another partition", band(hashed, Band{Keys: []int64{0}, Values: []matrix.Block{rows(1, 1)}}), "does not belong"},
		{"rows too wide", band(sparse, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 2)}}), "want a dense one of f64 at rows [0,1) x cols [0,1)"},
		{"too few rows", band(sparse, Band{Keys: []int64{0, 29}, Values: []matrix.Block{rows(1, 1)}}), "want a dense one of f64 at rows [0,2)"},
		{"no keys", band(sparse, Band{Keys: []int64{}, Values: []matrix.Block{rows(0, 1)}}), "no columns in a frame"},
		{"cells in columns", band(sparse, Band{Keys: nil, Values: []matrix.Block{rows(1, 1)}}), "frame of cells in the record of partition 1"},
		{"cells outside", band(cells, Band{Keys: nil, Values: []matrix.Block{at(matrix.At(0, 1, 3, 4)), at(matrix.At(0, 1, 3, 4))}}), "cells at"},
		{"cells late", band(cells, Band{Keys: nil, Values: []matrix.Block{at(matrix.At(1, 2, 0, 3)), at(matrix.At(1, 2, 0, 3))}}), "after 0 of the rows"},
		{"part of two rows", band(cells, Band{Keys: nil, Values: []matrix.Block{at(matrix.At(0, 2, 0, 1)), at(matrix.At(0, 2, 0, 1))}}), "want rows or a part of one"},
		{"slot missing", band(cells, Band{Keys: nil, Values: []matrix.Block{at(cells.At)}}), "block header needs 25 bytes, 0 remain"},
		{"slot too many", band(cells, Band{Keys: nil, Values: []matrix.Block{at(cells.At), at(cells.At), at(cells.At)}}), "after the end of the frame"},
		{"slot elsewhere", band(cells, Band{Keys: nil, Values: []matrix.Block{at(cells.At), at(matrix.At(0, 2, 1, 4))}}), "want a dense one"},
		{"no cells", band(cells), "end after 0 of partition 0 of matrix \"d\", which says 0 and has 6"},
		{"count", func(w *Writer) { _ = w.Begin(sparse); w.count = 1; _ = w.End() }, "which says 1 and has 0"},
		{"no end", func(w *Writer) { _ = w.Begin(sparse) }, "record needs 16 bytes, 0 remain"},
		{"type", head(`{"type":"f65"}`), `element type "f65"`},
		{"slots", head(`{"type":"f64","slots":65}`), "65 slots, want 0 to 64"},
		{"reversed", head(`{"type":"f64","rows":[1,0]}`), "want ranges that ascend"},
		{"steps", head(`{"type":"f64","steps":-1}`), "has made -1 steps"},
		{"bits", head(`{"type":"f64","sparse":true,"bits":2,"partition":4}`), "chosen by 2 bits"},
		{"cells beyond", head(`{"type":"f64","rows":[0,1099511627776],"cols":[0,1099511627776]}`), "want fewer than 2^63 cells"},
		{"aged cells", head(`{"type":"f64","aged":true}`), "is dense and has the age of columns"},
		{"no ages", band(aged, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}}), "block header needs 25 bytes, 0 remain"},
		{"ages too many", band(sparse, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}, Last: []int64{0}}), "after the end of the frame"},
		{"age of the future", band(aged, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}, Last: []int64{5}}), "step 5 named last in a partition after 4"},
		{"candidate outside", band(aged, Band{Keys: []int64{100}, Counts: []int64{1}, Last: []int64{1}}), "column 100, want one in [0,100)"},
		{"candidate twice", band(aged, Band{Keys: []int64{7, 7}, Counts: []int64{1, 1}, Last: []int64{1, 1}}), "column 7 after column 7"},
		{"candidate of no step", band(aged, Band{Keys: []int64{7}, Counts: []int64{0}, Last: []int64{1}}), "candidate 7 was named 0 times"},
		{"candidate of the future", band(aged, Band{Keys: []int64{7}, Counts: []int64{1}, Last: []int64{5}}), "step 5 named last"},
		{"candidate of a dense matrix", band(cells, Band{Keys: []int64{1}, Counts: []int64{1}, Last: []int64{1}}), "frame of candidates in the record"},
		{"columns after candidates", band(sparse, Band{Keys: []int64{7}, Counts: []int64{1}, Last: []int64{0}},
			Band{Keys: []int64{8}, Values: []matrix.Block{rows(1, 1)}}), "frame of columns in the record"},
		{"candidates", func(w *Writer) { _ = w.Begin(sparse); w.candidates = 1; _ = w.End() }, "end after 0 candidates of partition 1 of matrix \"s\", which says 1"},
		{"removed of a whole one", band(sparse, Band{Removed: []int64{7}}), "frame of removed in the record of partition 1"},
		{"removed cells", band(some, Band{Removed: []int64{1}}), "frame of removed in the record of partition 0"},
		{"removed outside", band(partial, Band{Removed: []int64{-1}}), "column -1, want one in [0,100)"},
		{"removed twice", band(partial, Band{Removed: []int64{7}}, Band{Removed: []int64{7}}), "column 7 after column 7"},
		{"removed none", band(partial, Band{Removed: []int64{}}), "no columns in a frame"},
		{"columns after removed", band(partial, Band{Removed: []int64{7}}, Band{Keys: []int64{8}, Values: []matrix.Block{rows(1, 1)}}),
			"frame of columns in the record"},
		{"candidates after removed", band(partial, Band{Removed: []int64{7}}, Band{Keys: []int64{8}, Counts: []int64{1}, Last: []int64{0}}),
			"frame of candidates in the record"},
		{"removed", func(w *Writer) { _ = w.Begin(partial); w.removed = 1; _ = w.End() }, "end after 0 removed columns of partition 1 of matrix \"s\", which says 1"},
		{"cells again", band(some, Band{Values: []matrix.Block{at(matrix.At(1, 2, 0, 3)), at(matrix.At(1, 2, 0, 3))}},
			Band{Values: []matrix.Block{at(matrix.At(0, 1, 0, 3)), at(matrix.At(0, 1, 0, 3))}}), "cells at rows [0,1) x cols [0,3) after 6 of the"},
		{"stale cells", head(`{"type":"f64","stale":true}`), "is dense and has columns that are stale"},
		{"no stamps", band(stale, rates, Band{Keys: []int64{7}, Values: []matrix.Block{rows(1, 1)}}), "block header needs 25 bytes, 0 remain"},
		{"stamps too many", band(sparse, stamped(0)), "after the end of the frame"},
		{"stamp of the future", band(stale, rates, stamped(5)), "step 5 left in a partition after 4 steps, want one from 2 on"},
		{"stamp before the rates", band(stale, rates, stamped(1)), "step 1 left in a partition after 4 steps, want one from 2 on"},
		{"stamp without rates", band(stale, stamped(3)), "want one from 4 on"},
		{"rates of a partition that has none", band(sparse, rates), "frame of rates in the record"},
		{"rates twice", band(stale, rates, rates), "frame of rates in the record"},
		{"rates after columns", band(stale, stamped(4), rates), "frame of rates in the record"},
		{"rates too many", band(stale, Band{Rates: make([]float64, 5)}), "rates at rows [0,5) x cols [0,1) in a partition after 4 steps"},
		{"no rates", band(stale, Band{Rates: []float64{}}), "rates at rows [0,0) x cols [0,1)"},
		{"rates in rows", func(w *Writer) { _ = w.Begin(stale); _ = w.blocks(kindRates, rows(1, 2)) }, "rates at rows [0,1) x cols [0,2)"},
		{"json", head(`{`), "partition: unexpected end of JSON input"},
		{"neither", func(w *Writer) {
			_ = w.frame(kindJob, []byte(`{"tasks":1,"matrices":[{"staged":[{"clock":1}]}]}`))
		}, "neither a tick nor a delta, or both"},
		{"delta", func(w *Writer) {
			_ = w.frame(kindJob, []byte(`{"tasks":1,"matrices":[{"staged":[{"delta":{"rows":[0,1],"cols":[0,2],"type":"f64"}}]}]}`))
			_ = w.blocks(kindDelta, rows(1, 3))
		}, "want a dense one of f64 at rows [0,1) x cols [0,2)"},
		{"no delta", func(w *Writer) {
			_ = w.frame(kindJob, []byte(`{"tasks":1,"matrices":[{"staged":[{"delta":{"rows":[0,1],"cols":[0,2],"type":"f64"}}]}]}`))
			_ = w.json(kindEnd, endJSON{})
		}, "frame of end, want delta"},
	} {
		data := hostile(c.frames)
		if err := readStream(data); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "at byte ") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestHostileCheckpoint: a checkpoint frame that does not fit itself is refused.
func TestHostileCheckpoint(t *testing.T) {
	meta := `"meta":{"Name":"m","Rows":1,"Cols":4,"DType":"f64","Layout":"dense"}`
	parts := `"map":{"version":1,"rows":[0,1],"cols":[0,4],"owners":[0]}`
	files := `"files":[{"size":100,"job":50}]`
	for text, want := range map[string]string{
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":8,"size":43}]}]}`:                                    "record below byte 50",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":7,"size":3}]}]}`:                                     "3 bytes at byte 7",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":9223372036854775807,"size":9223372036854775807}]}]}`: "record below byte 50",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[]}]}`:                                                       "records of 0 partitions, want 1",
		`{"files":[],"matrices":[{` + meta + `,` + parts + `,"records":[{"off":8,"size":4}]}]}`:                                        "owned by server 0, want one of 0",
		`{` + files + `,"id":"x","base":{"path":"a","id":"x"}}`:                                                                        `"x", based on checkpoint "a" with the identity "x"`,
		`{` + files + `,"id":"x","base":{"path":"a"}}`:                                                                                 `based on checkpoint "a" with the identity ""`,
		`{` + files + `,"id":"x","base":{"id":"y"}}`:                                                                                   `based on checkpoint "" with the identity "y"`,
		`{` + files + `,"base":{"path":"a","id":"1"}}`:                                                                                 `identity "", based on checkpoint "a"`,
		`{` + files + `,"id":"x","base":[{"path":"a","id":"1"}]}`:                                                                      "cannot unmarshal array",
		`{` + files + `}`: "file 0 has the state of the job at byte 50, want it at 8",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":8,"size":41}]}]}`: "state of the job at byte 50, want it at 49",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":9,"size":41}]}]}`: "a record at byte 9, want one at 8",
		`{"files":[],"loose":["../x"]}`:                                 `object "../x" beside the matrices`,
		`{"files":[],"loose":["server.0"]}`:                             `object "server.0" beside the matrices`,
		`{"files":[],"loose":["checkpoint"]}`:                           `object "checkpoint" beside the matrices`,
		`{"files":[],"loose":["_tmp.x"]}`:                               `object "_tmp.x" beside the matrices`,
		`{"files":[],"loose":["a","a"]}`:                                `object "a" is named twice`,
		`{"files":[],"sums":{"a":"00"}}`:                                `digest of "a", which is not named`,
		`{"files":[],"loose":[` + strings.Repeat(`"a",`, 100) + `"a"]}`: "101 objects beside the files",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":8,"size":4,"stored":-1}]}]}`: "in 4 bytes",
		`{"files":[{"size":3,"job":50}]}`: "file 0 of 3 bytes with the state of the job at 50",
		`{` + files + `,"matrices":[{` + strings.Replace(meta, "f64", "f6", 1) + `,` + parts + `}]}`:                                         `element type "f6"`,
		`{` + files + `,"matrices":[{` + strings.Replace(meta, "dense", "lazy", 1) + `,` + parts + `}]}`:                                     `layout "lazy"`,
		`{` + files + `,"matrices":[{` + strings.Replace(meta, `"Rows":1`, `"Rows":-1`, 1) + `,` + parts + `}]}`:                             "none below 0",
		`{` + files + `,"matrices":[{` + meta + `,` + parts + `,"records":[{"off":8,"size":4}]},{` + meta + `,` + parts + `,"records":[]}]}`: `two matrices "m"`,
	} {
		data := hostile(func(w *Writer) { _ = w.frame(kindCheckpoint, []byte(text)) })
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readCheckpoint(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestCommitRefuses: parts that are not those of all servers make nothing visible.
func TestCommitRefuses(t *testing.T) {
	ctx := t.Context()
	for what, parts := range map[string][]Part{
		"parts of 0 servers, want 1":          {},
		"part of server 1":                    {{Server: 1}},
		"server 0 keeps it elsewhere":         {{File: File{Size: 8, Job: 8}}},
		"with the state of the job at 0":      {{}},
		"state of the job at byte 9, want it": {{File: File{Size: 9, Job: 9}}},
		"has partition 0 of matrix \"x\"":     {{File: File{Size: 8, Job: 8}, Records: []Record{{Matrix: "x"}}}},
		"parts of 2 servers, want 1":          {{File: File{Size: 8, Job: 8}}, {Server: 1}},
		"file 0 of 4 bytes with the state of": {{File: File{Size: 4, Job: 8}}},
	} {
		b := &blob.Mem{}
		s, err := Create(ctx, b, "c", "x", blob.Nothing)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(ctx, &Checkpoint{}, parts, 1); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
		s.Abort(ctx)
		if all, err := b.List(ctx, ""); len(all) > 0 || err != nil {
			t.Errorf("%s: left %v: %v", what, all, err)
		}
	}
}

// emptied is a bucket in which somebody removes what is there of a checkpoint just before its head is written.
type emptied struct{ *blob.Mem }

func (b emptied) Create(ctx context.Context, name string) (blob.Writer, error) {
	if path.Base(name) == HeadName {
		if err := b.Remove(ctx, path.Dir(name)); err != nil {
			return nil, err
		}
	}
	return b.Mem.Create(ctx, name)
}

// TestCommitEmptied: another server, whose job has ended, removes the files while one commits: no checkpoint without them is visible.
func TestCommitEmptied(t *testing.T) {
	b := emptied{&blob.Mem{}}
	s, err := Create(t.Context(), b, "c", "x", blob.Nothing)
	if err != nil {
		t.Fatal(err)
	}
	none := func(*Writer) error { return nil }
	f, err := s.File(t.Context(), 0, none, none)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Commit(t.Context(), &Checkpoint{}, []Part{{File: f}}, 1)
	if there, _ := b.State(t.Context(), "c"); !errors.Is(err, fs.ErrNotExist) || there != blob.Nothing {
		t.Errorf("%v, and there is %q, want that the file of the server is missing and nothing is there", err, there)
	}
}

// reseal puts right checksums and pads into whatever looks like frames.
func reseal(data []byte) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	for len(data) >= 3 {
		n := min(int(data[1])|int(data[2])<<8, len(data)-3)
		_ = w.frame(kind(data[0]%13), data[3:3+n])
		data = data[3+n:]
	}
	return out.Bytes()
}

// FuzzRead: whatever the bytes are, with right checksums and without, reading ends, without a panic.
func FuzzRead(f *testing.F) {
	b := &blob.Mem{}
	sample(f, b, "c")
	for _, name := range []string{"checkpoint", "server.0", "server.1"} {
		data, err := blob.ReadAll(f.Context(), b, "c/"+name, 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, false)
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			f.Fatal(err)
		}
		var frames []byte
		for r.More() {
			k, body, _, err := r.next("frame")
			if err != nil {
				f.Fatal(err)
			}
			frames = append(append(frames, byte(k), byte(len(body)), byte(len(body)>>8)), body...)
		}
		f.Add(frames, true)
		if err := readStream(reseal(frames)); err != nil {
			f.Fatal(fmt.Errorf("%s: %w", name, err))
		}
	}
	partial := Partition{Matrix: "s", At: matrix.At(0, 1, 0, 9), Sparse: true, DType: matrix.F64, Partial: true}
	f.Add(hostile(func(w *Writer) { write(f, w, partial, []Band{{Removed: []int64{7}}}) }), false)
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal {
			data = reseal(data)
		}
		var at *wire.At
		if err := readStream(data); err != nil && !errors.As(err, &at) {
			t.Fatalf("%v, want the byte", err)
		}
	})
}

// FuzzHead: whatever JSON a head is, it is refused with the byte, or it is one that is written and read again with the same digest; a chain
// that begins with it ends.
func FuzzHead(f *testing.F) {
	b := &blob.Mem{}
	series(f, b)
	for _, at := range []string{"s/a", "s/c"} {
		data, err := blob.ReadAll(f.Context(), b, at+"/"+HeadName, 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			f.Fatal(err)
		}
		_, body, _, err := r.next("head")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Add(`{"files":[],"id":"x","base":{"path":"../../../etc","id":"y","sum":"00"}}`)
	f.Add(`{"files":[],"id":"x","base":{"path":"c","id":"x"},"moment":{"run":"r","best":"../x"},"loose":["a"],"sums":{"a":"0"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		data := hostile(func(w *Writer) { _ = w.frame(kindCheckpoint, []byte(text)) })
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		var place *wire.At
		c, err := readCheckpoint(r)
		if err != nil {
			if !errors.As(err, &place) {
				t.Fatalf("%v, want the byte", err)
			}
			return
		}
		sum, err := c.Sum()
		if err != nil {
			t.Fatal(err)
		}
		again := hostile(func(w *Writer) {
			if err := writeCheckpoint(w, c); err != nil {
				t.Fatal(err)
			}
		})
		if r, err = NewReader(bytes.NewReader(again), int64(len(again))); err != nil {
			t.Fatal(err)
		}
		twin, err := readCheckpoint(r)
		if err != nil {
			t.Fatalf("what was read and written cannot be read: %v", err)
		}
		if second, err := twin.Sum(); err != nil || second != sum {
			t.Fatalf("digest %.12s, then %.12s: %v", sum, second, err)
		}
		in := &blob.Mem{}
		series(t, in)
		if err := blob.WriteAll(t.Context(), in, "s/x/"+HeadName, data); err != nil {
			t.Fatal(err)
		}
		if chain, err := OpenChain(t.Context(), in, "s/x"); err == nil {
			_ = chain[len(chain)-1].Verify(t.Context(), nil) // may find anything, must not panic
			_ = Compact(t.Context(), in, "s/x", nil)
		}
		if all, err := List(t.Context(), in, "s"); err != nil || len(all) != 4 {
			t.Fatal(len(all), err)
		} else {
			_ = Keep(all, 1)
			_, _ = Next(all, "r")
		}
	})
}
