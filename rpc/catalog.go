package rpc

import (
	"encoding/json"

	"thole.example/ssp"
)

// Catalog is the argument of OpCatalog and OpPrune.
type Catalog struct {
	Path  string   `json:"path"`            // folder of checkpoints, within the servers' bucket
	Names []string `json:"names,omitempty"` // within it, of those to be removed
	Claim bool     `json:"claim,omitempty"` // the job is going to write there: nobody else may until it ends
}

// CatalogLimit is how many bytes the answer to OpCatalog takes at most.
const CatalogLimit = 16 << 20

// Kept is a checkpoint of a folder, of those that OpCatalog answers with.
type Kept struct {
	Name   string          `json:"name"` // within the folder
	Path   string          `json:"path"` // within the servers' bucket
	ID     string          `json:"id,omitempty"`
	Base   string          `json:"base,omitempty"` // path of the checkpoint that has to be read before it; "": it is a whole one
	Clock  int             `json:"clock"`          // of the task that asked for it
	Bound  ssp.Bound       `json:"bound,omitempty"`
	Bytes  int64           `json:"bytes"`
	Plan   string          `json:"plan,omitempty"`   // the settings of the job that wrote it
	Moment json.RawMessage `json:"moment,omitempty"` // state.Moment
	Err    string          `json:"err,omitempty"`    // why it cannot be read: nothing is known then but its names and bytes
}
