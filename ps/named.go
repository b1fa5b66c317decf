package ps

import (
	"errors"
	"fmt"

	"thole.example/rpc"
)

// ErrServers is the error of a Dial whose servers are not as it names them: two of the addresses lead to one server, or a server is another
// than the one whose place its address has. No other time would do. Readers ([Follow]) get it where they do not name the servers of the job
// in their order, also when the job has moved to others.
var ErrServers = errors.New("ps: the servers are others than those that were named")

// serversError is an ErrServers with what is wrong.
type serversError struct{ text string }

// Error implements error.
func (e *serversError) Error() string { return e.text }

// Is implements errors.Is.
func (e *serversError) Is(target error) bool { return target == ErrServers }

// CheckServers checks that the servers which answer at some addresses are as many, and if they are numbered that each which knows its
// number is at that place. The error is an ErrServers.
func CheckServers(addrs []string, are []rpc.Server, numbered bool) error {
	at := map[string]string{}
	for i, is := range are {
		if other, twice := at[is.Instance]; twice && is.Instance != "" {
			return &serversError{fmt.Sprintf("%s and %s are one server%s: want each once", other, addrs[i], named(is))}
		}
		at[is.Instance] = addrs[i]
	}
	for i, is := range are {
		if err := inPlace(addrs[i], is, i); numbered && err != nil {
			return err
		}
	}
	return nil
}

// inPlace tells that the server at an address is another than the one whose place it has.
func inPlace(addr string, is rpc.Server, place int) error {
	if is.Number < 0 || is.Instance == "" || is.Number == place {
		return nil
	}
	return &serversError{fmt.Sprintf("%s, the address of server %d, leads to server %d%s: want the addresses in the order of the servers, "+
		"from 0 on", addr, place, is.Number, named(is))}
}

// named is the name of a server for people, if it has one.
func named(s rpc.Server) string {
	if s.Name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s.Name)
}
