package tcp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"thole.example/access"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/wire"
)

// fence is a block of the page about the frames that stands between fences.
type fence struct {
	kind string // what stands after the opening fence
	text string
}

func fences(t *testing.T) (all []fence, page string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/format/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(b)) {
		if kind, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if inside = !inside; inside {
				all = append(all, fence{kind: kind})
			}
		} else if inside {
			all[len(all)-1].text += line
		}
	}
	return all, string(b)
}

// examples are the annotated dumps of the page, as bytes, in their order.
func examples(t *testing.T) [][]byte {
	t.Helper()
	line := regexp.MustCompile(`^([0-9a-f]{8})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(  |$)`)
	var all [][]byte
	blocks, _ := fences(t)
	for _, block := range blocks {
		if block.kind != "dump" {
			continue
		}
		var b []byte
		for text := range strings.Lines(block.text) {
			m := line.FindStringSubmatch(strings.TrimRight(text, "\n"))
			if m == nil {
				t.Fatalf("the line %q is no bytes", text)
			}
			if off, err := strconv.ParseInt(m[1], 16, 64); err != nil || int(off) != len(b) {
				t.Errorf("the line %q is at byte %#x of its example", strings.TrimSpace(text), len(b))
			}
			more, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, more...)
		}
		all = append(all, b)
	}
	return all
}

// The messages of the worked examples.
func pushAndPull() *rpc.Request {
	return &rpc.Request{Op: rpc.OpPush, Clock: 5, Seq: 3, Ticks: []rpc.Tick{{Matrix: 1, Clock: 5, Weight: 64, Rate: 0.5}},
		Parts: []rpc.Part{
			{Kind: rpc.KindDense, DType: matrix.F64, Matrix: 1, Version: 1, Clock: 5, Rows: matrix.Range{Hi: 1},
				Cols: matrix.Range{Lo: 3, Hi: 5}, Groups: []rpc.Group{{Partition: 2}}, Values: wire.View([]float64{1, -2})},
			{Kind: rpc.KindKeys, DType: matrix.F32, Matrix: 2, Version: 1, Clock: 6, Rows: matrix.Range{Hi: 1},
				Cols: matrix.Range{Hi: 100}, Groups: []rpc.Group{{Partition: 0, Keys: 1}, {Partition: 7, Keys: 2}}, Keys: []int64{9, 3, 40}},
		}}
}

func pulled() *rpc.Response {
	return &rpc.Response{Clock: 4,
		Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: matrix.F32, Matrix: 2, Version: 1, Clock: 5, Rows: matrix.Range{Hi: 1},
			Cols: matrix.Range{Hi: 100}, Values: wire.View([]float32{1, -2, 0.5})}},
		Results: []rpc.Result{{Matrix: 2, Partition: 7, Data: []byte("12")}}}
}

// stale is what a handler's error becomes.
type stale struct{}

func (stale) Append(g *rpc.Gather) error {
	rpc.NewFault("", rpc.ErrStale).Append(g)
	return nil
}

// pageChallenge is the challenge of the worked examples.
var pageChallenge = func() (c [access.ChallengeSize]byte) {
	for i := range c {
		c[i] = byte(0x20 + i)
	}
	return c
}()

// pageProof is the greeting that answers it, of the secret of bytes 0 to 31.
func pageProof(t *testing.T) []byte {
	t.Helper()
	secret, err := access.ParseSecret([]byte("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"))
	if err != nil {
		t.Fatal(err)
	}
	p := secret.Prove(pageChallenge, nil)
	if access.NewTable([]access.Token{{Name: "a", Key: secret.Key()}}).Prove(p, pageChallenge, nil) == nil {
		t.Error("the proof of the example is none")
	}
	return hello{status: helloProve, name: string(p[:])}.bytes()
}

// The worked examples of the page are what this package writes, and are read as the page says.
func TestPage(t *testing.T) {
	all := examples(t)
	want := [][]byte{
		hello{limit: DefaultFrameLimit, timeout: 10_000, name: "w7"}.bytes(),
		hello{limit: DefaultFrameLimit, window: DefaultWindow, timeout: 10_000, name: "s1"}.bytes(),
		hello{status: helloProve, name: string(pageChallenge[:])}.bytes(),
		pageProof(t),
		sealed(10, kindCancel, 9, nil),
		sealed(11, kindAlive, 9, nil),
		sealed(8, kindRequest, 7, pushAndPull()),
		sealed(8, kindResponse, 7, pulled()),
		sealed(9, kindFault, 8, stale{}),
	}
	if len(all) != len(want) {
		t.Fatalf("%d examples, want %d", len(all), len(want))
	}
	for i := range want {
		if !bytes.Equal(all[i], want[i]) {
			t.Errorf("example %d: the page has\n% x\nthis package writes\n% x", i, all[i], want[i])
		}
	}
	if h, err := readHello(bytes.NewReader(all[1]), "x"); err != nil || h.name != "s1" || h.window != 256 {
		t.Errorf("greeting: %+v, error %v", h, err)
	}
	body := func(i int) []byte {
		h, err := parseHead((*[headSize]byte)(all[i]), DefaultFrameLimit)
		if err != nil || int(h.size) != len(all[i])-headSize {
			t.Fatalf("example %d: head %+v, error %v", i, h, err)
		}
		return bytes.Clone(all[i][headSize:])
	}
	if q, err := rpc.ReadRequest(body(6)); err != nil || !reflect.DeepEqual(q, pushAndPull()) {
		t.Errorf("request: %+v, error %v, want %+v", q, err, pushAndPull())
	}
	if r, err := rpc.ReadResponse(body(7)); err != nil || !reflect.DeepEqual(r, pulled()) {
		t.Errorf("response: %+v, error %v, want %+v", r, err, pulled())
	}
	if f, err := rpc.ReadFault(body(8), "x"); err != nil || !errors.Is(f, rpc.ErrStale) {
		t.Errorf("error: %+v, error %v", f, err)
	}
}

// The examples of the arguments of control operations are read without anything left over, and written they are the same.
func TestPageArguments(t *testing.T) {
	types := map[string]any{"join": rpc.Join{}, "joined": rpc.Joined{}, "quit": rpc.Quit{}, "members": rpc.Members{}, "membership": rpc.Membership{},
		"create": rpc.Create{}, "created": rpc.Created{},
		"save": rpc.Save{}, "increment": rpc.Save{}, "load": rpc.Load{}, "restored": rpc.Restored{},
		"look": rpc.Look{}, "looked": rpc.Looked{}, "follow": rpc.Follow{}, "followed": rpc.Followed{}, "staged": rpc.Staged{},
		"catalog": rpc.Catalog{}, "kept": rpc.Kept{},
		"move": rpc.Move{}, "moved": rpc.Moved{}, "order": rpc.Order{}, "moving": rpc.Moving{},
		"copy": rpc.Copy{}, "copied": rpc.Copied{}}
	seen := map[string]bool{}
	blocks, _ := fences(t)
	for _, block := range blocks {
		name, ok := strings.CutPrefix(block.kind, "json ")
		if !ok {
			continue
		}
		if types[name] == nil {
			t.Errorf("an example of %q, want one of each of %v", name, reflect.ValueOf(types).MapKeys())
			continue
		}
		seen[name] = true
		v := reflect.New(reflect.TypeOf(types[name])).Interface()
		d := json.NewDecoder(strings.NewReader(block.text))
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var page any
		if err := json.Unmarshal([]byte(block.text), &page); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var written any
		if err := json.Unmarshal(again, &written); err != nil {
			t.Fatal(err)
		}
		within(t, name, page, written)
		if r := reflect.ValueOf(v).Elem(); r.IsZero() {
			t.Errorf("%s: the example says nothing", name)
		}
	}
	for name := range types {
		if !seen[name] {
			t.Errorf("there is no example of %q", name)
		}
	}
}

// within makes sure that everything on the page is written as it stands there; what is written may have more fields.
func within(t *testing.T, at string, page, written any) {
	t.Helper()
	switch p := page.(type) {
	case map[string]any:
		w, _ := written.(map[string]any)
		for name, v := range p {
			within(t, at+"."+name, v, w[name])
		}
	case []any:
		w, _ := written.([]any)
		if len(w) != len(p) {
			t.Errorf("%s: %v is written as %v", at, page, written)
			return
		}
		for i, v := range p {
			within(t, at+"["+strconv.Itoa(i)+"]", v, w[i])
		}
	default:
		if !reflect.DeepEqual(page, written) {
			t.Errorf("%s: %v is written as %v", at, page, written)
		}
	}
}

// The page has every enumeration with its numbers.
func TestPageNumbers(t *testing.T) {
	_, page := fences(t)
	rows := func(title string) string {
		_, after, ok := strings.Cut(page, "\n| "+title)
		if !ok {
			t.Fatalf("the page has no table that begins with %q", title)
		}
		table, _, _ := strings.Cut(after, "\n\n")
		return table
	}
	has := func(table string, number int, name string) {
		t.Helper()
		if !strings.Contains(table, "\n| "+strconv.Itoa(number)+" | "+name+" |") {
			t.Errorf("the page has no row %d, %s", number, name)
		}
	}
	ops := rows("op |")
	for op := rpc.OpJoin; op <= rpc.OpLoad; op++ {
		has(ops, int(op), op.String())
	}
	types := rows("type |")
	for _, d := range matrix.DTypes() {
		has(types, int(d), d.String())
	}
	kinds := rows("kind of frame |")
	for k, name := range []string{"request", "response", "error", "cancel", "alive"} {
		has(kinds, k+1, name)
	}
	parts := rows("kind of part |")
	for k, name := range []string{"dense", "keys", "stored"} {
		has(parts, k+1, name)
	}
	status := rows("status |")
	for k, name := range []string{"fine", "magic", "version", "prove", "token", "tls"} {
		has(status, k, name)
	}
	codes := rows("code |")
	for code, kind := range []error{rpc.ErrStale, rpc.ErrNotFound, rpc.ErrExists, rpc.ErrRefused, rpc.ErrAborted, rpc.ErrTimeout,
		rpc.ErrClosed, rpc.ErrMalformed, rpc.ErrTooLarge, rpc.ErrInternal} {
		var g rpc.Gather
		rpc.NewFault("", kind).Append(&g)
		if got := int(g.Bytes()[0]); got != code+1 {
			t.Errorf("%v has code %d, want %d", kind, got, code+1)
		}
		has(codes, code+1, kind.Error())
	}
}
