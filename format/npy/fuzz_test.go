package npy

import (
	"bytes"
	"context"
	"testing"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
)

// FuzzOpen reads and explains any bytes; what is read without an error is written and read again.
func FuzzOpen(f *testing.F) {
	f.Add(file(1, plainText, make([]byte, 12)))
	f.Add(file(2, "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2), }", make([]byte, 32)))
	f.Add(file(3, "{'descr': '|b1', 'fortran_order': False, 'shape': (), }", []byte{1}))
	f.Add(file(1, "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (3L,), }\n", make([]byte, 6)))
	f.Add(structuredFile("[('a', '<i2'), ('', '|V2'), ('b', '>f4')]", "(2,)", make([]byte, 16)))
	f.Add(structuredFile("[(('t', 'a'), '|b1'), ('\\u20ac', '<u8')]", "()", make([]byte, 9)))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, b := context.Background(), &blob.Mem{}
		if err := blob.WriteAll(ctx, b, "a.npy", data); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		_ = Codec.Explain(ctx, b, "a.npy", dump.New(&out))
		r, err := Codec.Open(ctx, b, "a.npy", format.Options{})
		for _, err = range blocksOf(r, err) {
			if err != nil {
				return
			}
		}
		if r, err = Codec.Open(ctx, b, "a.npy", format.Options{}); err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		copied := &blob.Mem{}
		if err := format.Convert(ctx, r, Codec, copied, "a.npy", format.Options{Lossy: true}, nil, nil); err != nil {
			t.Fatal(err)
		}
		again, err := Codec.Open(ctx, copied, "a.npy", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if diff, err := format.Diff(ctx, r, again); diff != "" || err != nil {
			t.Errorf("%s, %v", diff, err)
		}
	})
}
