package main

import (
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/matrix"
)

// TestRoom wants a training refused that takes more memory than there is, and no other.
func TestRoom(t *testing.T) {
	rows := &matrix.CSR[float32]{Ptr: []int{0, 2, 4}, Idx: []int64{0, 1, 0, 2}, Val: []float32{1, 1, 1, 1}}
	examples, err := data.Pack(&data.Batch{Label: []float32{1, -1}, X: matrix.Block{At: matrix.At(0, 2, 0, 3), Data: rows}})
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{job: &job{tasks: 1, batch: 2}, train: &data.Examples{Set: examples}}
	recipe, err := algo.Find("fm")
	if err != nil {
		t.Fatal(err)
	}
	m, err := recipe.Build(algo.Conf{Dim: 3, Size: algo.Size{Factors: 1 << 18}})
	if err != nil {
		t.Fatal(err)
	}
	// 3 x 2^18 numbers, once more for adagrad; in a batch four times; and four vectors with their gradients.
	need := int64((3*2 + 3*4 + 4*2) << 20)
	if err := p.room(m, need+need/100); err != nil {
		t.Error(err)
	}
	if err := p.room(m, 0); err != nil {
		t.Error("nobody knows how much there is:", err)
	}
	if err := p.room(m, need); err == nil || !strings.Contains(err.Error(), "weights with what their rules keep 6 MiB") {
		t.Error(err)
	}
	if err := p.checkOutputs(m); err != nil {
		t.Error(err)
	}
	if m, err = recipe.Build(algo.Conf{Dim: 3, Size: algo.Size{Factors: 1<<19 + 1}}); err != nil {
		t.Fatal(err)
	}
	if err := p.checkOutputs(m); err == nil {
		t.Error("more than 2^20 numbers of an example pass")
	}
}
