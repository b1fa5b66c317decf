package ps

import (
	"errors"
	"fmt"

	"thole.example/rpc"
)

// ErrServers is the error of a Dial whose servers are not as it names them: two of the addresses lead to one server, or a server is another
// than the one whose place its address has. No other time would do.
var ErrServers = errors.New("ps: the servers are others than those that were named")

// serversError is an ErrServers with what is wrong.
type serversError struct{ text string }

// Error implements error.
func (e *serversError) Error() string { return e.text }

// Is implements errors.Is.
func (e *serversError) Is(target error) bool { return target == ErrServers }

// distinct tells which two of the addresses lead to one server.
func (c *Client) distinct() error {
	at := map[string]string{}
	for _, l := range c.links {
		is := rpc.ServerOf(l.conn)
		if other, twice := at[is.Instance]; twice && is.Instance != "" {
			return &serversError{fmt.Sprintf("%s and %s are one server%s: want each once", other, l.addr, named(is))}
		}
		at[is.Instance] = l.addr
	}
	return nil
}

// inPlace tells that the server at the other end is another than the one whose place its address has.
func (l *link) inPlace(conn rpc.Conn) error {
	is := rpc.ServerOf(conn)
	if !l.c.o.Numbered || is.Number < 0 || is.Number == l.index {
		return nil
	}
	return &serversError{fmt.Sprintf("%s, the address of server %d, leads to server %d%s: want the addresses in the order of the servers, "+
		"from 0 on", l.addr, l.index, is.Number, named(is))}
}

// named is the name of a server for people, if it has one.
func named(s rpc.Server) string {
	if s.Name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s.Name)
}
