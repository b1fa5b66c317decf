package tcp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/budget"
	"thole.example/rpc"
)

// malformed is the corpus of what a peer must not send after the greeting: testdata/malformed/server is sent to servers,
// client to clients. Each file says what is wrong with it and which error tells of it; the bytes follow in hex.
func malformed(t testing.TB, side string) (names, wants []string, all [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/malformed/" + side + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		want := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if after, ok := strings.CutPrefix(line, "# want: "); ok {
				want = after
			} else if !strings.HasPrefix(line, "#") {
				more, err := hex.DecodeString(line)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				b = append(b, more...)
			}
		}
		if want == "" {
			t.Fatalf("%s: no error is wanted", name)
		}
		names = append(names, strings.TrimSuffix(filepath.Base(name), ".txt"))
		wants, all = append(wants, want), append(all, b)
	}
	return names, wants, all
}

// A client that breaks the protocol is told how, and its connection ends; the neighbour stays served, and nothing stays
// counted.
func TestMalformedToServer(t *testing.T) {
	names, wants, all := malformed(t, "server")
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			log, ledger := &journal{}, budget.New(64<<20)
			l := listen(t, Network{FrameLimit: 1 << 20, Log: log.logger(), Ledger: ledger}, func(x *rpc.Exchange) {
				if len(x.Arg) == 3 {
					go func() { // the malformed ones are answered when their connection has ended
						<-x.From.Gone
						echo(x)
					}()
					return
				}
				echo(x)
			})
			neighbour := dial(t, Network{}, l)
			r := connect(t, l)
			r.greet()
			r.put(append(bytes.Clone(all[i]), make([]byte, 100_000)...)) // what follows must not hide the last words
			r.wantFault(0, nil, wants[i])
			if err := r.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			r.wantEnd()
			wellServed(t, neighbour)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.text(), strings.Split(wants[i], `"`)[0]) {
				t.Errorf("log %q, want %q in it", log.text(), wants[i])
			}
			empty(t, ledger)
		})
	}
}

// A server that breaks the protocol fails all calls at once, and later ones too; the neighbour stays served, and nothing
// stays counted.
func TestMalformedToClient(t *testing.T) {
	fine := string(hello{limit: 1 << 20, window: 8}.bytes())
	names, wants, all := malformed(t, "client")
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			ledger := budget.New(64 << 20)
			n := Network{FrameLimit: 1 << 20, Ledger: ledger}
			neighbour := dial(t, n, listen(t, Network{}, echo))
			addr := play(t, fine, string(all[i]))
			conn, err := n.Dial(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			first, second := conn.Start(t.Context(), &rpc.Request{}), conn.Start(t.Context(), &rpc.Request{})
			lost := 0
			for _, call := range []*rpc.Call{first, second, conn.Start(t.Context(), &rpc.Request{})} {
				r, err := call.Wait(t.Context())
				r.Release()
				if err == nil {
					continue // one that was answered before
				}
				lost++
				if !errors.Is(err, rpc.ErrLost) || !strings.Contains(err.Error(), "server "+addr+": connection lost: "+wants[i]) {
					t.Errorf("got %v, want %q", err, wants[i])
				}
			}
			if lost == 0 {
				t.Error("no call failed")
			}
			wellServed(t, neighbour)
			_ = conn.Close()
			_ = neighbour.Close()
			empty(t, ledger)
		})
	}
}
