package rpc

// Copy is the argument of OpCopy: a standby asks for what has come to the logs of a server, and says what it has of them. A question is
// answered when there is something new, or after half a second if readers reach the standby or a disk of the server is full.
type Copy struct {
	Claim string    `json:"claim"`         // of the standby, as package coord names it
	Run   string    `json:"run,omitempty"` // of the server whose logs it has, as that said: others do not count
	Logs  []CopyLog `json:"logs,omitempty"`
	// Paused says that the standby has no room for more: the answer comes at once, and has no records.
	Paused bool `json:"paused,omitempty"`
	// Reads is where readers reach the standby, which answers them from its copy; "": they do not.
	Reads string `json:"reads,omitempty"`
	// Full says that the disk of the standby has no room, so it cannot take the role over.
	Full bool `json:"full,omitempty"`
}

// CopyLog is how much a standby has of a log.
type CopyLog struct {
	Name string `json:"name"`
	End  uint64 `json:"end"` // position before which it has everything
	// Replayed is the position up to which it has replayed that, and Loaded is how many bytes of the base it has read.
	Replayed uint64 `json:"replayed,omitempty"`
	Loaded   int64  `json:"loaded,omitempty"`
}

// Copied is the first result of the answer to OpCopy. Each of the others is a record of one of the logs, or bytes of its base: its
// Partition is the number of the log here, from 0 on, and its Matrix the kind of the record, 0 for bytes of the base.
type Copied struct {
	Run  string      `json:"run"` // tells this process from all others: what one has of the logs of another is of no use
	Logs []CopiedLog `json:"logs,omitempty"`
	// Paused repeats that of the question: nothing of Logs is said.
	Paused bool `json:"paused,omitempty"`
	// Full says that a disk of the server is full: the standby may have to take the role over, and says whether its own has room.
	Full bool `json:"full,omitempty"`
}

// CopiedLog is one of all logs that the server has, whether something of it follows or not.
type CopiedLog struct {
	Name string `json:"name"`
	// Base is the position at which it begins, after a state of that position, of Size bytes, of which those from At on follow. 0: it begins
	// at 0, or the standby has the state already.
	Base uint64 `json:"base,omitempty"`
	Size int64  `json:"size,omitempty"`
	At   int64  `json:"at,omitempty"`
	// From and To are the positions of the records that follow.
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Durable is the position before which everything is durable at the server.
	Durable uint64 `json:"durable,omitempty"`
}

// CopyBytes is about how much the answer to OpCopy takes, unless one record takes more.
const CopyBytes = 4 << 20
