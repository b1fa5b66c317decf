package tcp_test

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"thole.example/rpc"
	"thole.example/rpc/rpctest"
	"thole.example/rpc/tcp"
)

// silent drops what is logged.
func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestNetwork(t *testing.T) {
	rpctest.Run(t, func(_ testing.TB, window int) (rpc.Network, string) {
		return tcp.Network{Window: window, Log: silent()}, "127.0.0.1:0"
	})
}

func TestUnix(t *testing.T) {
	rpctest.Run(t, func(t testing.TB, window int) (rpc.Network, string) {
		return tcp.Network{Name: "tester", Window: window, Log: silent()}, "unix:" + filepath.Join(t.TempDir(), "s")
	})
}

func BenchmarkTCP(b *testing.B) {
	rpctest.Bench(b, func(testing.TB, int) (rpc.Network, string) { return tcp.Network{}, "127.0.0.1:0" })
}

func BenchmarkUnix(b *testing.B) {
	rpctest.Bench(b, func(b testing.TB, _ int) (rpc.Network, string) {
		return tcp.Network{}, "unix:" + filepath.Join(b.TempDir(), "s")
	})
}
