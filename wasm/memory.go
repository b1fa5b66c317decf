package wasm

import (
	"github.com/tetratelabs/wazero/experimental"

	"thole.example/budget"
	"thole.example/kernel"
)

// memory is the memory of an instance: mapped, so that it grows in place, goes back to the system when the instance is closed, and is
// counted in the ledger by what the module has asked for.
type memory struct {
	data  kernel.Memory
	bytes budget.Charge
	have  uint64
	plain []byte // in place of data, if there was no room from the start
	full  error  // why it could not grow when that was last tried
}

// allocate makes the memory of the instance, for the engine.
func (in *Instance) allocate(uint64, uint64) experimental.LinearMemory {
	in.memory = &memory{}
	in.memory.bytes, _ = in.rt.Ledger.Hold(budget.Modules, 0)
	return in.memory
}

// Reallocate implements experimental.LinearMemory. The engine needs what it asks for first; without room for that it gets memory that is
// dropped with the instance before any function of it is called.
func (m *memory) Reallocate(size uint64) []byte {
	if err := m.grow(size); err != nil {
		m.full = err
		if m.have == 0 {
			m.plain = make([]byte, size)
			return m.plain
		}
		return nil
	}
	m.have, m.full = size, nil
	return m.data.Data()[:size:size]
}

func (m *memory) grow(size uint64) error {
	if size <= m.have {
		return nil
	}
	more := int64(size - m.have)
	if err := m.bytes.Raise(more); err != nil {
		return err
	}
	var err error
	if m.have == 0 && kernel.CanDrop {
		m.data.Plain() // a large page would take more than was asked for
		err = m.data.Map()
	}
	if err == nil {
		err = m.data.Grow(int(size))
	}
	if err != nil {
		m.bytes.Resize(int64(m.have))
	}
	return err
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {
	if m == nil {
		return
	}
	m.data.Free()
	m.bytes.Release()
	m.have = 0
}
