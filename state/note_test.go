package state

import (
	"bytes"
	"testing"
)

// TestNote: notes come back as they were, between other frames, and are none where a record is.
func TestNote(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	notes := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte{7}, 1000)}
	for _, text := range notes {
		if err := w.Note(text); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range notes {
		got, err := r.Note()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("note %d is %q, %v, want %q", i, got, err, want)
		}
	}
	if r.More() {
		t.Error("something follows")
	}
	if _, err := r.Note(); err == nil {
		t.Error("one more note")
	}
	again, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Partition(); err == nil {
		t.Error("a note is the head of a record")
	}
	if _, err := again.Note(); err != nil {
		t.Error(err)
	}
}
