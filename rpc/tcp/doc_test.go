package tcp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/rpc"
)

// examples are the annotated dumps of the page about the frames, as bytes, in their order.
func examples(t *testing.T) [][]byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/format/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^([0-9a-f]{8})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(  |$)`)
	var all [][]byte
	fence := false
	for text := range strings.Lines(string(page)) {
		if strings.HasPrefix(text, "```") {
			fence = strings.TrimSpace(text) == "```dump"
			if fence {
				all = append(all, nil)
			}
			continue
		}
		m := line.FindStringSubmatch(strings.TrimRight(text, "\n"))
		if !fence || m == nil {
			continue
		}
		last := &all[len(all)-1]
		if off, err := strconv.ParseInt(m[1], 16, 64); err != nil || int(off) != len(*last) {
			t.Errorf("the line %q is at byte %#x of its example", strings.TrimSpace(text), len(*last))
		}
		b, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		*last = append(*last, b...)
	}
	return all
}

// The worked examples of the page are what this package writes, and are read as the page says.
func TestPage(t *testing.T) {
	all := examples(t)
	if len(all) != 4 {
		t.Fatalf("%d examples, want greeting, request, response and error", len(all))
	}
	greeting := hello{limit: DefaultFrameLimit, window: DefaultWindow, name: "s1"}
	if h, err := readHello(bytes.NewReader(all[0]), "x"); err != nil || h != greeting || !bytes.Equal(h.bytes(), all[0]) {
		t.Errorf("greeting: %+v, error %v, want %+v", h, err, greeting)
	}
	frames := make([]head, len(all))
	for i, b := range all[1:] {
		h, err := parseHead((*[headSize]byte)(b), DefaultFrameLimit)
		if err != nil || int(h.size) != len(b)-headSize {
			t.Fatalf("example %d: head %+v of %d bytes, error %v", i+1, h, len(b), err)
		}
		frames[i+1] = h
	}
	push := &rpc.Request{Op: rpc.OpPush, Job: "ctr", Version: 1, Task: 2, Clock: 5, Tick: true, Weight: 64, Rate: 0.5,
		Pieces: []rpc.Piece{{Matrix: "w", At: matrix.At(0, 1, 0, 10), Blocks: []matrix.Block{
			{At: matrix.At(0, 1, 3, 5), Data: &matrix.Dense[float64]{Val: []float64{1, -2}}}}}}}
	if q, err := rpc.ReadRequest(all[1][headSize:]); err != nil || !reflect.DeepEqual(q, push) {
		t.Errorf("request: %+v, error %v, want %+v", q, err, push)
	}
	if !bytes.Equal(request(7, push), all[1]) || frames[1] != (head{frames[1].size, kindRequest, 7}) {
		t.Errorf("the request is written\n% x\nthe page has\n% x", request(7, push), all[1])
	}
	pull := &rpc.Response{Clock: 4, Pieces: []rpc.Piece{{Matrix: "w", At: matrix.At(0, 1, 0, 10), Cols: []int64{3, 9},
		Blocks: []matrix.Block{{At: matrix.At(0, 1, 0, 10),
			Data: &matrix.Cols[float32]{Idx: []int64{3, 9}, Val: []float32{1, -2}}}}}},
		Results: []rpc.Result{{Matrix: "w", Part: 1, Data: []byte("12")}}}
	f := new(frame).begin()
	if err := pull.Append(&f.Gather); err != nil {
		t.Fatal(err)
	}
	f.seal(kindResponse, 8, DefaultFrameLimit)
	r, err := rpc.ReadResponse(all[2][headSize:])
	if err != nil || !reflect.DeepEqual(r, pull) || !bytes.Equal(f.Bytes(), all[2]) {
		t.Errorf("response: %+v, error %v, want %+v, written\n% x", r, err, pull, f.Bytes())
	}
	fault, err := rpc.ReadFault(all[3][headSize:], "x")
	if err != nil || !errors.Is(fault, rpc.ErrStale) || fault.Text != "map 3, want 4" || frames[3].kind != kindFault {
		t.Errorf("error: %+v, error %v", fault, err)
	}
}
