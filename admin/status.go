package admin

import (
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
)

// Status is what /status answers.
type Status struct {
	Address    string             `json:"address"` // of the data
	Name       string             `json:"name,omitempty"`
	Number     *int               `json:"number,omitempty"` // among the servers, from 0 on; nil: it does not know
	Version    string             `json:"version"`
	Go         string             `json:"go"`
	Uptime     float64            `json:"uptime"` // seconds
	Memory     Memory             `json:"memory"`
	Stats      tcp.Stats          `json:"network"`
	Operations []Operation        `json:"operations,omitempty"` // that were asked for
	Tokens     []Token            `json:"tokens,omitempty"`
	Jobs       []server.JobStatus `json:"jobs,omitempty"`

	Standbys []server.CopyStatus `json:"standbys,omitempty"` // that copy the logs of this server
	Dropped  uint64              `json:"dropped,omitempty"`  // standbys that were dropped because they did not keep up
	// CopyReads is how many requests of readers were answered from copies of other servers' jobs since the process began.
	CopyReads int64              `json:"copyReads,omitempty"`
	Copy      *server.CopyStatus `json:"copy,omitempty"` // of another server's logs; nil: this one copies none

	Replica *server.ReplicaStatus `json:"replica,omitempty"` // which checkpoint it serves; nil: it has jobs of its own
}

// Memory is bytes by class of the ledger.
type Memory struct {
	Limit int64            `json:"limit"` // 0: none, and only matrices are counted
	Used  map[string]int64 `json:"used"`
}

// Operation is what was counted of one operation since the start.
type Operation struct {
	Name     string  `json:"name"`
	Requests uint64  `json:"requests"`
	P50      float64 `json:"p50Us"`
	P99      float64 `json:"p99Us"`
	rpc.Measure
}

// Token is the tokens of one name; it has nothing that anybody could come in with.
type Token struct {
	Name       string   `json:"name"`
	Rights     string   `json:"rights"`
	Jobs       []string `json:"jobs,omitempty"`
	Store      []string `json:"store,omitempty"`
	Load       []string `json:"load,omitempty"`
	Limits     string   `json:"limits,omitempty"`
	Bytes      int64    `json:"bytes"`
	Partitions int64    `json:"partitions"`
	tcp.Use
}

// stats are those of the listener.
func (a *Admin) stats() tcp.Stats {
	s, _ := tcp.StatsOf(a.Listener)
	return s
}
