package ps

import "thole.example/rpc"

// Traffic is what a client has exchanged with the servers: keys, values and arguments, without the heads of messages. What is sent again
// after a connection was lost counts again.
type Traffic struct {
	Requests       int64
	Sent, Received int64 // bytes
}

// Traffic is that of all calls so far.
func (c *Client) Traffic() Traffic { return c.traffic }

func (t *Traffic) sent(q *rpc.Request) {
	t.Requests++
	t.Sent += int64(len(q.Arg)) + partBytes(q.Parts)
}

func (t *Traffic) received(r *rpc.Response) {
	if r == nil {
		return
	}
	t.Received += partBytes(r.Parts)
	for i := range r.Results {
		t.Received += int64(len(r.Results[i].Data))
	}
}

// partBytes is the bytes of keys, groups and values.
func partBytes(parts []rpc.Part) (n int64) {
	const key, group = 8, 8
	for i := range parts {
		p := &parts[i]
		n += int64(key*len(p.Keys) + group*len(p.Groups) + len(p.Values))
	}
	return n
}
