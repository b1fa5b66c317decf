package rpc

import (
	"fmt"
	"strconv"
	"strings"
)

// Server says which process serves at an address, as far as that tells it when it is greeted.
type Server struct {
	Name     string // for people; it has no blanks
	Number   int    // which of the servers of its cluster it is, from 0 on; below 0: it does not know
	Instance string // unlike that of any other process, also the one that it is started again as; "": not told
}

// Greeted is a [Conn] that knows which server answers it. Server does not block, and may be called by any goroutine.
type Greeted interface{ Server() Server }

// ServerOf is the server at the other end of a connection, as far as that is known.
func ServerOf(c Conn) Server {
	if g, ok := c.(Greeted); ok {
		return g.Server()
	}
	return Server{Number: -1}
}

// Text is s as the name of a side of a connection: the name, the number or "-", and the instance, with blanks between them.
func (s Server) Text() string {
	number := "-"
	if s.Number >= 0 {
		number = strconv.Itoa(s.Number)
	}
	return fmt.Sprintf("%s %s %s", s.Name, number, s.Instance)
}

// ParseServer is the server that a text names. One that Text has not made is the name alone.
func ParseServer(text string) Server {
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return Server{Name: text, Number: -1}
	}
	s := Server{Name: words[0], Number: -1, Instance: words[2]}
	if n, err := strconv.ParseUint(words[1], 10, 31); err == nil {
		s.Number = int(n)
	} else if words[1] != "-" {
		return Server{Name: text, Number: -1}
	}
	return s
}
