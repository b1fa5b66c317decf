package blob

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
)

func TestMap(t *testing.T) {
	for name, b := range map[string]Bucket{"dir": NewDir(t.TempDir()), "mem": &Mem{}} {
		t.Run(name, func(t *testing.T) {
			for _, want := range []string{"some bytes", ""} {
				if err := WriteAll(t.Context(), b, "a/b", []byte(want)); err != nil {
					t.Fatal(err)
				}
				o, err := b.Open(t.Context(), "a/b")
				if err != nil {
					t.Fatal(err)
				}
				m, ok := o.(Mapped)
				if !ok {
					t.Fatalf("%T is not Mapped", o)
				}
				var all sync.WaitGroup
				both := make(chan bool) // both look at the same time
				for i := range 2 {
					all.Go(func() {
						err := m.Map(func(data []byte) error {
							if string(data) != want {
								t.Errorf("%q, want %q", data, want)
							}
							if i == 0 {
								both <- true
							} else {
								<-both
							}
							return nil
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				sentinel := errors.New("of look")
				if err := m.Map(func([]byte) error { return sentinel }); !errors.Is(err, sentinel) {
					t.Errorf("%v, want the error of look", err)
				}
				if err := o.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestMapClosed checks that a closed file is not looked at, and that closing waits for those who look.
func TestMapClosed(t *testing.T) {
	b := NewDir(t.TempDir())
	put(t, b, "a", "b")
	for _, name := range []string{"a", "b"} {
		o, err := b.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		m := o.(Mapped)
		looking, closed := make(chan bool), make(chan error)
		if name == "b" {
			go func() {
				<-looking
				closed <- o.Close()
			}()
			err = m.Map(func(data []byte) error {
				looking <- true
				select {
				case <-closed:
					t.Error("closed while somebody looks")
				default:
				}
				if string(data) != "in b" {
					t.Errorf("%q", data)
				}
				return nil
			})
			if err := errors.Join(err, <-closed); err != nil {
				t.Error(err)
			}
		} else if err := o.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Map(func([]byte) error { return nil }); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%v, want fs.ErrClosed", err)
		}
		if err := o.Close(); !errors.Is(err, fs.ErrClosed) || strings.Contains(err.Error(), "\n") {
			t.Errorf("closed again: %v, want fs.ErrClosed and nothing of the map, which is no longer there", err)
		}
	}
}
