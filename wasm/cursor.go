package wasm

import "fmt"

// cursor reads the binary format. The first error stays, and everything read after it is zero.
type cursor struct {
	name string
	b    []byte
	at   int
	base int // place of b in the module
	err  error
}

// fail keeps the first error, with the place where reading stopped.
func (c *cursor) fail(format string, args ...any) { c.failAt(c.at, format, args...) }

func (c *cursor) failAt(at int, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("wasm: %s at byte %d: %s", c.name, c.base+at, fmt.Sprintf(format, args...))
	}
}

func (c *cursor) byte() byte {
	if c.err != nil || c.at >= len(c.b) {
		c.fail("the end, want another byte")
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// bytes reads n bytes, which are the module's memory.
func (c *cursor) bytes(n uint32) []byte {
	if c.err != nil {
		return nil
	}
	if uint64(n) > uint64(len(c.b)-c.at) {
		c.fail("%d bytes remain, want %d", len(c.b)-c.at, n)
		return nil
	}
	c.at += int(n)
	return c.b[c.at-int(n) : c.at : c.at]
}

// u32 reads an unsigned number of at most 32 bits.
func (c *cursor) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > 1<<32-1 {
				c.fail("%d, want a number of 32 bits", v)
				return 0
			}
			return uint32(v)
		}
	}
	c.fail("a number of more than 5 bytes")
	return 0
}

// leb skips a number of at most 64 bits.
func (c *cursor) leb() {
	for range 10 {
		if c.byte()&0x80 == 0 {
			return
		}
	}
	c.fail("a number of more than 10 bytes")
}

// count reads how many elements follow: each has a byte at least.
func (c *cursor) count(limit int, what string) uint32 {
	n := c.u32()
	switch {
	case c.err != nil:
		return 0
	case n > uint32(limit):
		c.fail("%d %s, want at most %d", n, what, limit)
		return 0
	case int(n) > len(c.b)-c.at:
		c.fail("%d %s in %d bytes", n, what, len(c.b)-c.at)
		return 0
	}
	return n
}

// index reads the number of one of n things.
func (c *cursor) index(n uint32, what string) uint32 {
	v := c.u32()
	if v >= n {
		c.fail("number %d of %d %s", v, n, what)
		return 0
	}
	return v
}

func (c *cursor) text() string { return string(c.bytes(c.count(nameLimit, "bytes of a name"))) }

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendS32(b []byte, v int32) []byte {
	for v < -64 || v >= 64 {
		b = append(b, byte(v)&0x7f|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
