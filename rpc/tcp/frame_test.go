package tcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/rpc/rpctest"
)

// readAll reads frames from the bytes until something is wrong, and tells their ids. Every body is a message or not, but
// none may make it panic.
func readAll(b []byte, ledger *budget.Ledger, t testing.TB) (ids []uint64, err error) {
	r := newReader(t.Context(), nil, 1<<20, ledger)
	r.br = bufio.NewReaderSize(bytes.NewReader(b), 4096)
	defer r.credit.Close()
	for {
		h, err := r.next()
		if err == nil {
			err = r.follow(h)
		}
		if err != nil {
			return ids, err
		}
		body, err := r.body(h)
		if err != nil {
			return ids, err
		}
		_, _ = rpc.ReadRequest(body.Bytes())
		_, _ = rpc.ReadResponse(body.Bytes())
		_, _ = rpc.ReadFault(body.Bytes(), "")
		body.Release()
		ids = append(ids, h.id)
	}
}

// whole is a frame with something in every field, and one after it.
func whole() []byte {
	return append(sealed(0, kindRequest, 1, rpctest.Sample()), sealed(1, kindAlive, 1, nil)...)
}

// A bit that was flipped is noticed, wherever it is.
func TestFlippedBits(t *testing.T) {
	b := whole()
	if ids, err := readAll(b, nil, t); len(ids) != 2 || err != io.EOF {
		t.Fatalf("frames %v, error %v, want both and the end", ids, err)
	}
	for i := range 8 * len(b) {
		damaged := bytes.Clone(b)
		damaged[i/8] ^= 1 << (i % 8)
		ids, err := readAll(damaged, nil, t)
		if _, ok := errors.AsType[*breach](err); !ok || len(ids) == 2 {
			t.Errorf("bit %d of byte %d: frames %v, error %v", i%8, i/8, ids, err)
		}
	}
}

// So is a frame that was cut off, left out or repeated.
func TestTruncatedFrames(t *testing.T) {
	b := whole()
	for n := range len(b) {
		ids, err := readAll(b[:n], nil, t)
		if n == 0 || n == len(b)-headSize {
			if err != io.EOF {
				t.Errorf("%d of %d bytes: error %v, want the end between frames", n, len(b), err)
			}
		} else if err != io.ErrUnexpectedEOF {
			t.Errorf("%d of %d bytes: frames %v, error %v, want an end that came too early", n, len(b), ids, err)
		}
	}
	first, second := b[:len(b)-headSize], b[len(b)-headSize:]
	for _, wrong := range [][]byte{second, append(bytes.Clone(first), first...), append(bytes.Clone(b), second...)} {
		if _, err := readAll(wrong, nil, t); errors.Unwrap(err) == nil {
			t.Errorf("error %v, want a frame that does not follow", err)
		}
	}
}

// Bodies of any size come whole, and are counted as long as they are used.
func TestBodies(t *testing.T) {
	ledger := budget.New(64 << 20)
	for _, size := range []int{1, firstStep - 40, firstStep, 300_000, lastStep, 5<<20 + 1, 90_000, 5 << 20} {
		arg := make([]byte, size)
		for i := range arg {
			arg[i] = byte(i * 7 >> 3)
		}
		b := sealed(0, kindRequest, 1, &rpc.Request{Arg: arg})
		r := newReader(t.Context(), nil, 1<<30, ledger)
		r.br = bufio.NewReaderSize(bytes.NewReader(append(b, b...)), 4096)
		for range 2 { // the second time the size is proven
			h, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			body, err := r.body(h)
			if err != nil {
				t.Fatal(err)
			}
			q, err := rpc.ReadRequest(body.Bytes())
			if err != nil || !bytes.Equal(q.Arg, arg) {
				t.Errorf("a body of %d bytes: other bytes came, error %v", size, err)
			}
			if used := ledger.Used().Total(); used < int64(len(b)-headSize) {
				t.Errorf("%d bytes are counted for %d", used, len(b)-headSize)
			}
			body.Release()
		}
		r.credit.Close()
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("used %v after a body of %d bytes", used, size)
		}
	}
}

// A length alone costs nothing; what comes costs at most twice itself.
func TestLengthAlone(t *testing.T) {
	for _, come := range []int{0, 1, 1000, 200_000, 3 << 20} {
		ledger := budget.New(4 << 30)
		b := sealed(0, kindRequest, 1, &rpc.Request{})
		h, _ := parseHead((*[headSize]byte)(b), 1<<20)
		h.size = 1 << 30
		h.put(b[:headSize])
		most := int64(0)
		r := newReader(t.Context(), nil, 1<<30, ledger)
		r.br = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(b[:headSize]), &watched{come, func() {
			most = max(most, ledger.Used().Total())
		}}), 4096)
		h, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.body(h); err != io.ErrUnexpectedEOF {
			t.Errorf("error %v, want an end that came too early", err)
		}
		if most > int64(2*come+firstStep) {
			t.Errorf("%d bytes came and %d were counted", come, most)
		}
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("used %v in the end", used)
		}
	}
}

// watched brings n zeros, a few at a time.
type watched struct {
	n    int
	look func()
}

func (w *watched) Read(b []byte) (int, error) {
	w.look()
	if w.n == 0 {
		return 0, io.EOF
	}
	n := min(len(b), w.n, 5000)
	clear(b[:n])
	w.n -= n
	return n, nil
}

func FuzzFrames(f *testing.F) {
	f.Add(whole())
	f.Add(sealed(0, kindResponse, 1, rpctest.Answer()))
	f.Fuzz(func(t *testing.T, b []byte) {
		ledger := budget.New(8 << 20)
		ids, err := readAll(b, ledger, t)
		if err == nil || len(ids)*headSize > len(b) {
			t.Errorf("%d bytes were frames %v", len(b), ids)
		}
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("used %v in the end", used)
		}
	})
}
