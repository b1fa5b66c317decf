package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/dump"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is a log of three groups, the last one of two records, as it is after a clean close.
func sample(t testing.TB, m *machine, o Options) {
	t.Helper()
	o.Identity = "sample"
	l := open(t, m.start("", 0), o)
	add(t, l, 1, "one")
	wait(t, l)
	add(t, l, 2, "two ", "parts")
	wait(t, l)
	l.mu.Lock() // both come before the writing goroutine
	for i, text := range []string{"three", ""} {
		body := [][]byte{[]byte(text)}
		h := head{n: uint32(len(text)), kind: uint32(3 + i), sum: crc32.Update(l.seed, castagnoli(), body[0])}
		if _, err := l.add(h, body); err != nil {
			t.Error(err)
		}
	}
	l.mu.Unlock()
	wait(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	firstName = "00000000000000000000.log"
	lastGroup = segmentHead + 40 + 48 // byte of the sample at which its last group begins
)

// Wherever a byte changes: what was durable when something later was written is refused, the last group is cut off from there on.
func TestEveryByte(t *testing.T) {
	m := newMachine(1)
	sample(t, m, Options{})
	whole := m.names[firstName].now
	for i := range whole {
		n := &inode{now: slices.Clone(whole), dirty: map[int64]bool{}}
		n.now[i] ^= 0x10
		m.names = map[string]*inode{firstName: n}
		l, err := Open(m.start("", 0), Options{Segment: 100})
		switch {
		case i < lastGroup:
			version := i >= 8 && i < 12 // not for us to judge
			if err == nil || !strings.Contains(err.Error(), firstName+": at byte ") || errors.Is(err, ErrDamaged) == version {
				t.Fatalf("byte %d changed: %v", i, err)
			}
		case err != nil:
			t.Fatalf("byte %d of the last group changed: %v", i, err)
		default:
			want := []string{"0:1:one", "40:2:two parts"}
			if i >= lastGroup+40 {
				want = append(want, "88:3:three")
			}
			if got := all(t, l, 0); !slices.Equal(got, want) || l.Cut() == nil {
				t.Errorf("byte %d changed: %q, cut %v, want %q", i, got, l.Cut(), want)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Wherever the file ends, there are the records before; all records are there for no longer file.
func TestEveryLength(t *testing.T) {
	m := newMachine(1)
	sample(t, m, Options{})
	whole := m.names[firstName].now
	for n := range len(whole) {
		for _, zeros := range []int{0, 8, 1000} {
			m.names = map[string]*inode{firstName: {now: append(slices.Clone(whole[:n]), make([]byte, zeros)...), dirty: map[int64]bool{}}}
			l, err := Open(m.start("", 0), Options{Segment: 100})
			if n < segmentHead {
				// zeros may be what was there
				if err == nil && !bytes.Equal(m.names[firstName].now[:segmentHead], whole[:segmentHead]) {
					t.Fatalf("opened with %d bytes of a head", n)
				}
				if err == nil {
					_ = l.Close()
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d bytes and %d zeros: %v", n, zeros, err)
			}
			got := len(all(t, l, 0))
			if least := (n - segmentHead) / 48; got > 4 || got < min(least, 2) || zeros == 0 && n < len(whole) && got == 4 {
				t.Errorf("%d bytes and %d zeros: %d records", n, zeros, got)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What is refused, and what is not, of a log of three segments: one record, one, and two.
func TestSegmentsDamaged(t *testing.T) {
	names := []string{firstName, "00000000000000000040.log", "00000000000000000088.log"}
	for name, c := range map[string]struct {
		noSync bool
		edit   func(files map[string]*inode)
		want   string // the error; "" for none
		left   int
	}{
		"whole":         {edit: func(map[string]*inode) {}, left: 4},
		"first missing": {edit: func(f map[string]*inode) { delete(f, names[0]) }, left: 3},
		"one missing": {edit: func(f map[string]*inode) { delete(f, names[1]) },
			want: names[2] + ": at byte 32: the segment before begins at position 40, want 0, that of " + names[0]},
		"one missing without syncs": {noSync: true, edit: func(f map[string]*inode) { delete(f, names[1]) },
			want: names[2] + ": at byte 32: the segment before begins at position 40, want 0"},
		"one of another place": {edit: func(f map[string]*inode) { f[names[1]] = f[names[2]] },
			want: names[1] + ": at byte 16: the first position is 88, want 40"},
		"one of another log": {edit: func(f map[string]*inode) { copy(f[names[1]].now, label{first: 40, identity: "other"}.bytes()) },
			want: names[1] + `: at byte 40: the identity is "other", want "sample": the log is another one`},
		"a head of zeros": {edit: func(f map[string]*inode) { clear(f[names[2]].now[:segmentHead]) },
			want: names[2] + `: at byte 0: magic "\x00\x00\x00\x00\x00\x00\x00\x00", want "THOLELOG"`},
		"a record of zeros": {edit: func(f map[string]*inode) { clear(f[names[1]].now[segmentHead:]) },
			want: names[1] + ": at byte 104: a record of position 0, want 40: the log is damaged: it was durable when position 88 was written"},
		"a record of zeros before a segment without one": {edit: func(f map[string]*inode) {
			clear(f[names[1]].now[segmentHead:])
			f[names[2]].now = f[names[2]].now[:segmentHead]
		}, want: names[1] + ": at byte 104: a record of position 0, want 40: the log is damaged: it was durable when position 88 was written"},
		"a file cut short": {edit: func(f map[string]*inode) { f[names[1]].now = f[names[1]].now[:segmentHead] },
			want: names[1] + ": at byte 96: the file ends at position 40, want records up to 88"},
		"a record of zeros without syncs": {noSync: true, edit: func(f map[string]*inode) { clear(f[names[0]].now[segmentHead:]) }, left: 0},
		"a file cut short without syncs": {noSync: true,
			edit: func(f map[string]*inode) { f[names[0]].now = f[names[0]].now[:segmentHead] }, left: 0},
		"other files": {edit: func(f map[string]*inode) {
			f["1.log"], f["readme"], f["0000000000000000004x.log"] = &inode{}, &inode{}, &inode{}
		}, left: 4},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(1)
			sample(t, m, Options{Segment: 1, NoSync: c.noSync})
			if got := slices.Sorted(maps.Keys(m.names)); !slices.Equal(got, names) {
				t.Fatalf("files %q", got)
			}
			c.edit(m.names)
			l, err := Open(m.start("", 0), Options{Segment: 1})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := all(t, l, l.First()); len(got) != c.left || (l.Cut() != nil) != (c.left == 0) {
				t.Errorf("%q, cut %v, want %d records", got, l.Cut(), c.left)
			}
		})
	}
}

// A record of a torn group that is whole itself comes not back when a new record of the same length stands before it.
func TestTornRecordStaysAway(t *testing.T) {
	m := newMachine(1)
	sample(t, m, Options{})
	m.names[firstName].now[lastGroup] ^= 1
	l := open(t, m.start("", 0), Options{})
	if got := add(t, l, 5, "THREE"); got != 128 {
		t.Fatalf("a new record up to %d, want 128, as the torn one was", got)
	}
	wait(t, l)
	m.kill()
	_ = l.Close()
	l = open(t, m.start("", 0), Options{})
	if got := all(t, l, 88); !slices.Equal(got, []string{"88:5:THREE"}) {
		t.Errorf("%q, want the new record alone", got)
	}
}

// Nothing in a body looks like a record of the log it is in: not even bytes of a segment of the same positions.
func TestRecordsInRecords(t *testing.T) {
	m := newMachine(1)
	l := open(t, m.start("", 0), Options{Identity: "outer"})
	evil := make([]byte, 8*recordHead)
	for i := range 8 {
		head{position: uint64(recordHead * (1 + i)), synced: uint64(recordHead * (1 + i)), n: 0, sum: seedOf("inner")}.put(evil[i*recordHead:], seedOf("inner"))
	}
	add(t, l, 0, string(evil))
	wait(t, l)
	m.kill()
	_ = l.Close()
	m.names[firstName].now[segmentHead+4] ^= 1
	l = open(t, m.start("", 0), Options{})
	if l.End() != 0 || l.Cut() == nil {
		t.Errorf("the log ends at %d, cut %v: want the only group cut off", l.End(), l.Cut())
	}
}

// annotate prints a segment with the meaning of its bytes.
func annotate(b []byte) string {
	var out bytes.Buffer
	p, le := dump.New(&out), binary.LittleEndian
	field := func(off, n int, what string, args ...any) { p.Field(int64(off), b[off:off+n], what, args...) }
	p.Head("head of the segment")
	field(0, 8, "magic %q", b[:8])
	field(8, 4, "version %d", le.Uint32(b[8:]))
	field(12, 4, "checksum")
	field(16, 8, "first position %d", le.Uint64(b[16:]))
	field(24, 8, "synced: all before %d was durable", le.Uint64(b[24:]))
	field(32, 8, "first position of the segment before %d", le.Uint64(b[32:]))
	field(40, 56, "identity %q", bytes.TrimRight(b[40:96], "\x00"))
	for at := segmentHead; at < len(b); {
		n := int(le.Uint32(b[at+16:]))
		p.Head("record at position %d", at-segmentHead)
		field(at, 4, "checksum of the head")
		field(at+4, 4, "checksum of the body")
		field(at+8, 8, "position %d", le.Uint64(b[at+8:]))
		field(at+16, 4, "length of the body %d", n)
		field(at+20, 4, "kind %d", le.Uint32(b[at+20:]))
		field(at+24, 8, "synced: all before %d was durable", le.Uint64(b[at+24:]))
		field(at+32, n, "body %q", b[at+32:at+32+n])
		if rest := padded(n) - recordHead - n; rest > 0 {
			field(at+32+n, rest, "zeros up to a multiple of 8")
		}
		at += padded(n)
	}
	return out.String()
}

// The bytes of a log are those that they were, and those that the page of the format shows.
func TestGolden(t *testing.T) {
	m := newMachine(1)
	sample(t, m, Options{})
	got := annotate(m.names[firstName].now)
	golden := filepath.Join("testdata", "segment.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("a segment is\n%s\nwant\n%s", got, want)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "format", "journal.md"))
	if err != nil || !strings.Contains(string(page), got) {
		t.Errorf("docs/format/journal.md shows other bytes than\n%s(%v)", got, err)
	}
}
