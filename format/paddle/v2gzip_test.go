package paddle

import (
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
)

// zipped compresses data.
func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestGzip reads a compressed archive as the archive itself, and refuses every damage of it.
func TestGzip(t *testing.T) {
	plain, err := blob.ReadAll(t.Context(), goldens(t), "own/v2_tar/params.tar", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r, err := put(t, "params.tar", plain)
	if err != nil {
		t.Fatal(err)
	}
	packed := zipped(t, plain)
	z, err := put(t, "params.tar.gz", packed)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describe(t, z), describe(t, r); got != want {
		t.Errorf("holds %s, want %s", got, want)
	}
	b := fill(t, map[string][]byte{"m": packed})
	if dialect, err := Codec.Sniff(t.Context(), b, "m"); dialect != "v2tar.gz, 1 tensor" || err != nil {
		t.Errorf("%q, %v", dialect, err)
	}
	for n := range packed {
		if _, err := put(t, "cut", packed[:n]); err == nil {
			t.Errorf("cut at byte %d: no error", n)
		}
		if n < 10 { // the header says when and where, not what
			continue
		}
		changed := slices.Clone(packed)
		changed[n] ^= 1 << (n % 8)
		if c, err := put(t, "changed", changed); err == nil && describe(t, c) != describe(t, r) { // one can say the same in two ways
			t.Errorf("byte %d changed: no error", n)
		}
	}
	if _, err := put(t, "more", append(slices.Clone(packed), 0)); err == nil {
		t.Error("a byte behind the end: no error")
	}
}

// TestGzipLimits refuses what is no archive after a look at its begin, and what unpacks to much more than it is.
func TestGzipLimits(t *testing.T) {
	if _, err := put(t, "text.gz", zipped(t, bytes.Repeat([]byte("text "), 1000))); !errors.Is(err, format.ErrVersion) {
		t.Errorf("text: %v, want ErrVersion", err)
	}
	bomb := archive(t, "a", v2File(0, 4, 2), "a.protobuf", configFile("a", 2))
	bomb = zipped(t, append(bomb, make([]byte, 80<<20)...))
	b := &blob.Mem{}
	if err := blob.WriteAll(t.Context(), b, "bomb", bomb); err != nil {
		t.Fatal(err)
	}
	if _, err := Codec.Open(t.Context(), b, "bomb", format.Options{}); !errors.Is(err, format.ErrLimit) {
		t.Errorf("bomb: %v, want ErrLimit", err)
	}
}
