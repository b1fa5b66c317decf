package state

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/wire"
)

// readPlaces reads all records of a stream, each through a section of its own, as text.
func readPlaces(data []byte) (all []string, err error) {
	r, err := NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	for place, err := range r.Places() {
		if err != nil {
			return all, err
		}
		in, err := r.Section(place.Off, place.Size)
		if err != nil {
			return all, err
		}
		p, err := in.Partition()
		if err != nil {
			return all, err
		}
		columns, candidates := int64(0), int64(0)
		over := in.ReadAhead()
		out := ""
		for b, bad := range in.Bands(&p) {
			if err = bad; err != nil {
				break
			}
			if b.Counts != nil {
				candidates += int64(len(b.Keys))
			} else {
				columns += int64(len(b.Keys))
			}
			out += text([]Band{b})
		}
		over()
		saidColumns, saidCandidates := place.Columns()
		if err == nil && p.Sparse && (saidColumns != columns || saidCandidates != candidates) {
			err = errors.New("the place says how many columns there are, and that is wrong")
		}
		if all = append(all, out); err != nil {
			return all, err
		}
	}
	return all, nil
}

// TestPlaces: the records of a stream are found without reading them, and each is what it is when all are read in order. A stream that is cut
// off, or of which a byte is changed, is never taken for another one.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		w := NewWriter(&out)
		var want []string
		for range rapid.IntRange(0, 4).Draw(t, "records") {
			p, bands := drawn(t)
			write(t, w, p, bands)
			want = append(want, text(bands))
		}
		data := out.Bytes()
		got, err := readPlaces(data)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("read %q, %v, want %q", got, err, want)
		}
		cut := rapid.IntRange(0, len(data)).Draw(t, "cut")
		if got, err := readPlaces(data[:cut]); err == nil && (len(got) == len(want) && cut < len(data) || !slices.Equal(got, want[:len(got)])) {
			t.Fatalf("cut off at byte %d of %d: %q, want an error or the records before", cut, len(data), got)
		}
		if len(data) > len(magic) {
			at := rapid.IntRange(len(magic), len(data)-1).Draw(t, "at")
			bad := slices.Clone(data)
			bad[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if got, err := readPlaces(bad); err == nil {
				t.Fatalf("changed at byte %d: %q, want an error", at, got)
			}
		}
	})
}

// TestPlacesHostile: lengths that are not there are refused before anything is read for them.
func TestPlacesHostile(t *testing.T) {
	data := hostile(func(w *Writer) {
		if err := errors.Join(w.Begin(Partition{Matrix: "m"}), w.End()); err != nil {
			t.Fatal(err)
		}
	})
	if got, err := readPlaces(data); err == nil || len(got) > 1 { // a partition without a type
		t.Errorf("%q, %v", got, err)
	}
	for _, n := range []uint64{1 << 20, 1 << 62, 1<<64 - 1, 1<<64 - 8} {
		bad := slices.Clone(data)
		wire.Little.PutUint64(bad[len(magic)+8:], n)
		if _, err := readPlaces(bad); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("a body of %d bytes: %v", n, err)
		}
	}
}

// TestFork: two readers of a checkpoint read it at the same time.
func TestFork(t *testing.T) {
	b := &blob.Mem{}
	sample(t, b, "c")
	in, err := NewInput(t.Context(), b, "c")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out [3]string
	done := make(chan error)
	for i := range out {
		one := in.Fork()
		go func() {
			defer one.Close()
			done <- func() error {
				for k := range one.Matrices {
					m := &one.Matrices[k]
					for id := range m.Records {
						err := one.Record(context.Background(), m, id, func(_ *Partition, b Band) error { out[i] += text([]Band{b}); return nil })
						if err != nil {
							return err
						}
					}
				}
				return nil
			}()
		}()
	}
	for range out {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if out[0] == "" || out[0] != out[1] || out[0] != out[2] {
		t.Errorf("read %q", out)
	}
}
