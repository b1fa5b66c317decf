package data

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
)

// svmText is libsvm text with 40 features a line of six-digit values.
func svmText(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < size {
		b = append(b, "01"[r.IntN(2)])
		k := 0
		for range 40 {
			k += 1 + r.IntN(3000)
			b = append(b, ' ')
			b = strconv.AppendInt(b, int64(k), 10)
			b = append(b, ':')
			b = strconv.AppendFloat(b, float64(r.Float32()), 'g', 6, 32)
		}
		b = append(b, '\n')
	}
	return b
}

// ffmText is libffm text with 40 features a line of six-digit values, one of each field.
func ffmText(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < size {
		b = append(b, "01"[r.IntN(2)])
		for f := range 40 {
			b = strconv.AppendInt(append(b, ' '), int64(f), 10)
			b = strconv.AppendInt(append(b, ':'), int64(3000*f+r.IntN(3000)), 10)
			b = strconv.AppendFloat(append(b, ':'), float64(r.Float32()), 'g', 6, 32)
		}
		b = append(b, '\n')
	}
	return b
}

// dummyText is dummy text with 40 indices a line.
func dummyText(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for len(b) < size {
		b = append(b, "01"[r.IntN(2)])
		k := 0
		for range 40 {
			k += 1 + r.IntN(3000)
			b = append(b, ' ')
			b = strconv.AppendInt(b, int64(k), 10)
		}
		b = append(b, '\n')
	}
	return b
}

func benchParse(b *testing.B, text []byte, opt Options) {
	s, err := opt.settings("")
	if err != nil {
		b.Fatal(err)
	}
	c := &chunk{text: append(text, make([]byte, pad)...)}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.reset()
		c.len = len(text)
		if c.parse(s); c.err != nil {
			b.Fatal(c.err)
		}
	}
}

// One processor, text in memory, no copy of the result.
func BenchmarkParseLibsvm(b *testing.B) { benchParse(b, svmText(1<<20), Options{}) }
func BenchmarkParseLibffm(b *testing.B) { benchParse(b, ffmText(1<<20), Options{Format: "libffm"}) }
func BenchmarkParseDummy(b *testing.B)  { benchParse(b, dummyText(1<<20), Options{Format: "dummy"}) }

func benchLoad(b *testing.B, text []byte, opt Options) {
	in := Input{Name: "bench", R: bytes.NewReader(text), Size: int64(len(text))}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := LoadAll(context.Background(), []Input{in}, opt); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadLibsvm(b *testing.B) { benchLoad(b, svmText(32<<20), Options{}) }
func BenchmarkLoadLibffm(b *testing.B) { benchLoad(b, ffmText(32<<20), Options{Format: "libffm"}) }
func BenchmarkLoadDummy(b *testing.B)  { benchLoad(b, dummyText(32<<20), Options{Format: "dummy"}) }

func BenchmarkReadLibsvm(b *testing.B) {
	text := svmText(32 << 20)
	in := Input{Name: "bench", R: bytes.NewReader(text), Size: int64(len(text))}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for _, err := range Read(context.Background(), in, Options{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
