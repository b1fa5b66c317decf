package format

import "encoding/json"

// PandasKey is the key under which pandas says in the metadata of a file what its columns are.
const PandasKey = "pandas"

// pandasLimit is how much of that is read.
const pandasLimit = 16 << 20

// MarkIndex marks the columns that hold the index of a DataFrame, by what pandas says of a file under PandasKey; none if that is damaged.
func MarkIndex(columns []TableColumn, said string) {
	var meta struct {
		Index []json.RawMessage `json:"index_columns"` // names; of a range, which no column holds, an object
	}
	if len(said) > pandasLimit || json.Unmarshal([]byte(said), &meta) != nil {
		return
	}
	index := map[string]bool{}
	for _, one := range meta.Index {
		var name string
		if json.Unmarshal(one, &name) == nil {
			index[name] = true
		}
	}
	for i := range columns {
		columns[i].Index = index[columns[i].Name]
	}
}
