package data

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Parts are made ready in any order, and there are fewer places for them than parts: whoever comes first must not take the place of the
// part that is waited for. (Two processors that were busy elsewhere stopped here for ever.)
func TestManyParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var b strings.Builder
	b.WriteString("label,a\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "%d,x%d\n", i%2, i%7)
	}
	text := b.String()
	done := make(chan error, 1)
	go func() {
		for range 20 {
			l := loader{reader: reader{step: 64, limit: LineLimit}, set: newSet()}
			if _, err := l.load(context.Background(), []Input{{Name: "t.csv", R: strings.NewReader(text), Size: int64(len(text))}}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not come to an end")
	}
}
