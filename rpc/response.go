package rpc

import (
	"math"

	"thole.example/wire"
)

// Append adds the body of r's frame to g, whose length must be a multiple of 8. The slices of r must not change until g
// is written.
func (r *Response) Append(g *Gather) error {
	if err := counts(len(r.Parts), len(r.Results)); err != nil {
		return err
	}
	g.U32(uint32(r.Clock))
	g.U32(uint32(len(r.Parts)))
	g.U32(uint32(len(r.Results)))
	g.U32(0)
	if err := appendParts(g, r.Parts); err != nil {
		return err
	}
	for _, res := range r.Results {
		if err := counts(len(res.Data)); err != nil {
			return err
		}
		g.U32(res.Matrix)
		g.U32(res.Partition)
		g.U32(uint32(len(res.Data)))
		g.U32(0)
		g.Raw(res.Data)
		g.Pad()
	}
	return nil
}

// ReadResponse decodes the body of a frame, as ReadRequest does.
func ReadResponse(body []byte) (*Response, error) {
	c := wire.NewCursor(body, 0, wire.Little)
	memory := &struct {
		r     Response
		first [1]Part
	}{}
	r := &memory.r
	r.Clock = c.I32("clock")
	parts, results := c.U32("number of parts"), c.U32("number of results")
	zeros(c, 4, "reserved bytes")
	r.Parts = readParts(c, parts, &memory.first)
	if n := c.Count(int64(results), resultSize, math.MaxUint32, "number of results"); n > 0 {
		r.Results = make([]Result, n)
	}
	for i := range r.Results {
		res := &r.Results[i]
		res.Matrix, res.Partition = c.U32("matrix"), c.U32("partition")
		size := c.U32("length of the result")
		zeros(c, 4, "reserved bytes")
		res.Data = data(c, size, "result")
		if pad(c); c.Err() != nil {
			break
		}
	}
	c.End("the response")
	if c.Err() != nil {
		return nil, c.Err()
	}
	return r, nil
}

// textLimit is the most of an error's text that crosses the wire.
const textLimit = 64 << 10

// Append adds the body of the fault's frame to g. Text beyond 64 KiB is cut off.
func (f *Fault) Append(g *Gather) {
	text := f.Text[:min(len(f.Text), textLimit)]
	code := uint16(0)
	if f.Kind != nil {
		code = faultCode(f.Kind)
	}
	g.U16(code)
	g.U16(0)
	g.U32(uint32(len(text)))
	g.String(text)
	g.Pad()
}

// ReadFault decodes the body of a frame that the server at the address sent. A code from a later version counts as any
// other error.
func ReadFault(body []byte, server string) (*Fault, error) {
	c := wire.NewCursor(body, 0, wire.Little)
	f := &Fault{Server: server}
	if code := c.U16("code"); int(code) < len(faults) {
		f.Kind = faults[code]
	}
	zeros(c, 2, "reserved bytes")
	f.Text = c.String(textLimit, "text")
	pad(c)
	c.End("the error")
	if c.Err() != nil {
		return nil, c.Err()
	}
	return f, nil
}
