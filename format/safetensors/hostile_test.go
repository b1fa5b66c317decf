package safetensors

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// TestHostile are the known attacks on the format, and headers that are no JSON of the one form.
func TestHostile(t *testing.T) {
	values := make([]byte, 10)
	change := func(old, with string) []byte {
		if !strings.Contains(plainHeader, old) {
			t.Fatalf("no %q to change", old)
		}
		return file(strings.Replace(plainHeader, old, with, 1), values...)
	}
	huge := func(n uint64) []byte { return append(wire.AppendU64(nil, wire.Little, n), "{}"...) }
	for name, c := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"no bytes":          {nil, format.ErrCorrupt, "8 bytes"},
		"no header":         {file(""), format.ErrCorrupt, ""},
		"length above":      {huge(headerLimit + 1), format.ErrLimit, "at most"},
		"length huge":       {huge(1<<64 - 1), format.ErrLimit, "at most"},
		"length negative":   {huge(1 << 63), format.ErrLimit, "at most"},
		"length too long":   {huge(3), format.ErrCorrupt, "2 remain"},
		"length too short":  {huge(1), format.ErrCorrupt, "want '\"'"},
		"another beginning": {file(" " + plainHeader), format.ErrCorrupt, "'{'"},
		"list":              {file("[]"), format.ErrCorrupt, "'{'"},
		"latin 1":           {change(`"b"`, "\"\xfc\""), format.ErrCorrupt, "UTF-8"},
		"after U+FFFD":      {change(`"b"`, "\"\uFFFD\xfc\""), format.ErrCorrupt, "0xfc"},
		"behind":            {file(plainHeader+"{}", values...), format.ErrCorrupt, "behind"},
		"zero behind":       {file(plainHeader+"\x00", values...), format.ErrCorrupt, "behind"},
		"name twice":        {change(`"b"`, `"a"`), format.ErrCorrupt, "twice"},
		"name twice, other": {change(`"b"`, `"\u0061"`), format.ErrCorrupt, "twice"},
		"key twice":         {change(`"shape":[2]`, `"shape":[2],"shape":[2]`), format.ErrCorrupt, "twice"},
		"metadata twice":    {change(`"a":`, `"__metadata__":{},"__metadata__":{},"a":`), format.ErrCorrupt, "twice"},
		"entry twice":       {change(`"a":`, `"__metadata__":{"k":"1","k":"2"},"a":`), format.ErrCorrupt, "twice"},
		"metadata number":   {change(`"a":`, `"__metadata__":{"k":1},"a":`), format.ErrCorrupt, ""},
		"metadata null":     {change(`"a":`, `"__metadata__":null,"a":`), format.ErrCorrupt, ""},
		"other key":         {change(`"shape":[2]`, `"shape":[2],"size":2`), format.ErrCorrupt, `"size"`},
		"no shape":          {change(`"shape":[2],`, ``), format.ErrCorrupt, `no key "shape"`},
		"no type":           {change(`"dtype":"U8",`, ``), format.ErrCorrupt, `no key "dtype"`},
		"no offsets":        {change(`,"data_offsets":[8,10]`, ``), format.ErrCorrupt, `no key "data_offsets"`},
		"null":              {change(`{"dtype":"U8","shape":[2],"data_offsets":[8,10]}`, `null`), format.ErrCorrupt, ""},
		"f8 of powers":      {change("U8", "F8_E8M0"), format.ErrVersion, "F8_E8M0"},
		"f6":                {change("U8", "F6_E3M2"), format.ErrVersion, "F6_E3M2"},
		"f4":                {change("U8", "F4"), format.ErrVersion, "F4"},
		"complex, one half": {change("U8", "C64"), format.ErrCorrupt, "want 16 bytes"},
		"complex, product":  {file(`{"a":{"dtype":"C64","shape":[4611686018427387904,1],"data_offsets":[0,8]}}`, values[:8]...), format.ErrCorrupt, "2^63"},
		"type":              {change("U8", "u8"), format.ErrVersion, `"u8"`},
		"overlap":           {change("[8,10]", "[7,9]"), format.ErrCorrupt, "overlaps"},
		"same place":        {change(`"shape":[2],"data_offsets":[8,10]`, `"shape":[8],"data_offsets":[0,8]`), format.ErrCorrupt, "overlaps"},
		"gap":               {file(strings.Replace(plainHeader, "[8,10]", "[9,11]", 1), make([]byte, 11)...), format.ErrCorrupt, "gap"},
		"late start":        {file(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}}`, 1, 2), format.ErrCorrupt, "want 0"},
		"reversed":          {change("[8,10]", "[10,8]"), format.ErrCorrupt, "want 2 bytes"},
		"reversed, none":    {change(`"shape":[2],"data_offsets":[8,10]`, `"shape":[0],"data_offsets":[10,8]`), format.ErrCorrupt, "want 0 bytes"},
		"too many":          {change("[8,10]", "[8,11]"), format.ErrCorrupt, "want 2 bytes"},
		"one offset":        {change("[8,10]", "[8]"), format.ErrCorrupt, "','"},
		"three offsets":     {change("[8,10]", "[8,10,10]"), format.ErrCorrupt, "']'"},
		"offset 2^63":       {change("[8,10]", "[8,9223372036854775808]"), format.ErrCorrupt, "2^63"},
		"offset long":       {change("[8,10]", "[8,1"+strings.Repeat("0", 400)+"]"), format.ErrCorrupt, "2^63"},
		"offset negative":   {change("[8,10]", "[-8,10]"), format.ErrCorrupt, "whole"},
		"offset with zero":  {change("[8,10]", "[08,10]"), format.ErrCorrupt, "whole"},
		"offset exponent":   {change("[8,10]", "[8,1e1]"), format.ErrCorrupt, ""},
		"size fraction":     {change("[2]", "[2.0]"), format.ErrCorrupt, ""},
		"product":           {change("[2]", "[4294967296,4294967296,2]"), format.ErrCorrupt, "2^63"},
		"product 2^64":      {change("[2,2]", "[4294967296,4294967296]"), format.ErrCorrupt, "2^63"},
		"bytes":             {change("[2,2]", "[4611686018427387904,1]"), format.ErrCorrupt, "2^63 bytes"},
		"dimensions":        {change("[2]", "[1"+strings.Repeat(",1", rankLimit)+"]"), format.ErrLimit, "dimensions"},
		"nested":            {change("[2]", "[[2]]"), format.ErrCorrupt, "whole"},
		"deep":              {file(strings.Repeat(`{"a":`, 100_000)), format.ErrCorrupt, ""},
		"deep lists":        {change("[2]", strings.Repeat("[", 100_000)), format.ErrCorrupt, ""},
		"comma":             {change("[2]", "[2,]"), format.ErrCorrupt, "whole"},
		"last comma":        {file(`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},}`, 1), format.ErrCorrupt, ""},
		"control":           {change(`"b"`, "\"b\n\""), format.ErrCorrupt, "0x0a"},
		"control, escaped":  {change(`"b"`, "\"\\tb\x01\""), format.ErrCorrupt, "0x01"},
		"escape":            {change(`"b"`, `"\x62"`), format.ErrCorrupt, "escape"},
		"half a pair":       {change(`"b"`, `"\ud83d"`), format.ErrCorrupt, "surrogate"},
		"two first halves":  {change(`"b"`, `"\ud83d\ud83d"`), format.ErrCorrupt, "surrogate"},
		"second half":       {change(`"b"`, `"\ude00"`), format.ErrCorrupt, "surrogate"},
		"hex":               {change(`"b"`, `"\u+062"`), format.ErrCorrupt, "hexadecimal"},
		"hex, end":          {file(`{"a\u00`), format.ErrCorrupt, "hexadecimal"},
		"text without end":  {file(`{"a`), format.ErrCorrupt, "ends"},
		"escape at the end": {file(`{"a\`), format.ErrCorrupt, "backslash"},
		"values missing":    {file(plainHeader, make([]byte, 9)...), format.ErrCorrupt, "9 remain"},
		"values too many":   {file(plainHeader, make([]byte, 11)...), format.ErrCorrupt, "belong to no tensor"},
		"nothing but bytes": {file("{}", 1), format.ErrCorrupt, "belong to no tensor"},
		"truth value":       {file(strings.Replace(plainHeader, "U8", "BOOL", 1), 0, 0, 0, 0, 0, 0, 0, 0, 1, 2), format.ErrCorrupt, "truth"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadBytes(t, c.data)
			if !errors.Is(err, c.want) || err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
			var where *format.Error
			if !errors.As(err, &where) || where.Off < 0 {
				t.Errorf("%v, want the byte", err)
			}
			if len(fmt.Sprint(err)) > 2000 {
				t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
			}
		})
	}
}

// TestSniff: what begins like a file of the format is one, so that it is said what is wrong with it.
func TestSniff(t *testing.T) {
	huge := func(n uint64, text string) []byte { return append(wire.AppendU64(nil, wire.Little, n), text...) }
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"whole":          {file(plainHeader, make([]byte, 10)...), "2 tensors"},
		"no tensor":      {file("{}"), "0 tensors"},
		"cut header":     {huge(200, plainHeader), "not readable"},
		"cut values":     {file(plainHeader, make([]byte, 9)...), "not readable"},
		"bytes behind":   {file("{}", 0), "not readable"},
		"a key":          {file(`{"a":{"dtype":`), "not readable"},
		"no key":         {file("{a}"), ""},
		"list":           {file("[]"), ""},
		"no header":      {huge(2, ""), ""},
		"eight braces":   {[]byte("{{{{{{{{{}"), ""},
		"latin 1":        {file("{\xfc}"), ""},
		"long, cut head": {huge(headerLimit, "{"), "not readable"},
		"too long":       {huge(headerLimit+1, "{"), ""},
	} {
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, path, c.data); err != nil {
			t.Fatal(err)
		}
		if got, err := Codec.Sniff(t.Context(), b, path); err != nil || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", what, got, err, c.want)
		}
	}
}
