//go:build !amd64

package kernel

import "hash/crc32"

func crcOn(_ level, crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }
