package safetensors

import (
	"bytes"
	"context"
	"io"
	"maps"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// FuzzOpen reads and explains any bytes; what is read without an error is written and read again.
func FuzzOpen(f *testing.F) {
	f.Add(file(plainHeader, make([]byte, 10)...))
	f.Add(file(`{"__metadata__":{"format":"pt"},"\u00fc":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}  `, 1, 2))
	f.Add(file(`{"a":{"dtype":"BOOL","shape":[0,7],"data_offsets":[0,0]}}`))
	f.Add(file(`{}`))
	f.Add(file(`{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[8,10]}}`, make([]byte, 10)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, path, data); err != nil {
			t.Fatal(err)
		}
		_ = Codec.Explain(ctx, b, path, dump.New(io.Discard))
		c, err := load(b)
		if err != nil {
			return
		}
		again, err := loadBytes(t, save(t, b, c, format.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(c.values, again.values, bytes.Equal) || !maps.EqualFunc(c.files, again.files, bytes.Equal) {
			t.Errorf("%v, want %v", again, c)
		}
	})
}
