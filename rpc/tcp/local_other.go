//go:build !linux

package tcp

import "net"

// tuneLocal does nothing: only Linux has what it sets.
func tuneLocal(net.Conn) {}
