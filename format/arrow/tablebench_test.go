package arrow

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"thole.example/matrix"
)

// textBody is the offsets and the bytes of texts, as a body of a batch has them, and their buffers behind an empty bitmap.
func textBody(texts []string) (body []byte, buffers []int64) {
	ends := []int32{0}
	all := []byte(nil)
	for _, t := range texts {
		all = append(all, t...)
		ends = append(ends, int32(len(all)))
	}
	body, _ = binary.Append(nil, binary.LittleEndian, ends)
	body = append(body, make([]byte, aligned(int64(len(body)))-int64(len(body)))...)
	buffers = []int64{0, 0, 0, int64(4 * len(ends)), int64(len(body)), int64(len(all))}
	body = append(body, all...)
	return append(body, make([]byte, aligned(int64(len(body)))-int64(len(body)))...), buffers
}

// textStream is a stream of two columns of text, one by a dictionary, whose batch is there some times.
func textStream(t fataler, words, texts []string, codes []byte, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := table{out: &out}
	indexed := append(newField("word", typeUTF8, []val{}),
		val{slot: 4, v: []val{{slot: 0, v: int64(7)}, {slot: 1, v: []val{{slot: 0, v: int32(8)}, {slot: 1, v: uint8(0)}}}}})
	write := func(kind uint8, head []val, body []byte) {
		if _, err := w.message(kind, head, int64(len(body))); err != nil {
			t.Fatal(err)
		}
		if err := w.write(body); err != nil {
			t.Fatal(err)
		}
	}
	write(kindSchema, []val{{slot: 0, v: int16(0)}, {slot: 1, v: [][]val{indexed, newField("text", typeUTF8, []val{})}}}, nil)
	body, buffers := textBody(words)
	head := []val{{slot: 0, v: int64(len(words))}, {slot: 1, each: 2, v: []int64{int64(len(words)), 0}}, {slot: 2, each: 2, v: buffers}}
	write(kindDictionary, []val{{slot: 0, v: int64(7)}, {slot: 1, v: head}}, body)
	rows, first := int64(len(texts)), aligned(int64(len(codes)))
	body, buffers = textBody(texts)
	for i := 0; i < len(buffers); i += 2 {
		buffers[i] += first
	}
	body = slices.Concat(codes, make([]byte, first-int64(len(codes))), body)
	head = []val{{slot: 0, v: rows}, {slot: 1, each: 2, v: []int64{rows, 0, rows, 0}},
		{slot: 2, each: 2, v: append([]int64{0, 0, 0, int64(len(codes))}, buffers...)}}
	for range times {
		write(kindBatch, head, body)
	}
	return append(out.Bytes(), endMark...)
}

// BenchmarkTable reads two columns of text, one by a dictionary; its bytes are those of the same columns as CSV.
func BenchmarkTable(b *testing.B) {
	words, texts, codes := make([]string, 200), make([]string, 50_000), make([]byte, 50_000)
	size := [2]int64{}
	for i := range words {
		words[i] = fmt.Sprintf("site-%d.example", i*7919)
	}
	for i := range texts {
		texts[i], codes[i] = fmt.Sprintf("%016x", i*2654435761), byte(i*31%200)
		size[0], size[1] = size[0]+int64(len(words[codes[i]]))+1, size[1]+int64(len(texts[i]))+1
	}
	const times = 8
	t, err := openTable(textStream(b, words, texts, codes, times), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	for i, what := range []string{"dictionary", "text"} {
		b.Run(what, func(b *testing.B) {
			b.SetBytes(times * size[i])
			for b.Loop() {
				for _, err := range t.Batches(context.Background(), []int{i}, matrix.Range{Hi: 1 << 40}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// TestDictionaryStays gives the same dictionary from batch to batch.
func TestDictionaryStays(t *testing.T) {
	table, err := openTable(textStream(t, []string{"a", "b"}, []string{"x", "", "z"}, []byte{1, 0, 1}, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var first any
	for b, err := range table.Batches(context.Background(), []int{0, 1}, matrix.Range{Hi: 9}) {
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Cells[0].Dict
		}
		if b.Cells[0].Dict != first || b.Rows != 3 || string(b.Cells[0].TextAt(2)) != "b" || string(b.Cells[1].TextAt(2)) != "z" {
			t.Errorf("batch at row %d: %v", b.First, b.Cells)
		}
	}
}
