package kernel

// Hash is the hash of a key throughout the system: its top bits choose the partition, the 32 bits after those the slot
// within it. Every bit of the result depends on every bit of the key.
func Hash(key uint64) uint64 {
	const m = 0xd6e8feb86659fd93
	key ^= key >> 32
	key *= m
	key ^= key >> 32
	key *= m
	return key ^ key>>32
}
