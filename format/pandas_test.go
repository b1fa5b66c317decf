package format

import "testing"

func TestMarkIndex(t *testing.T) {
	for said, want := range map[string]string{
		`{"index_columns": ["__index_level_0__", "b"], "columns": []}`:                           "01",
		`{"index_columns": [{"kind": "range", "name": null, "start": 0, "stop": 3, "step": 1}]}`: "",
		`{"index_columns": "b"}`: "", `{`: "", ``: "", `{"index_columns": [null, 1, "a"]}`: "a",
	} {
		columns := []TableColumn{{Name: "a"}, {Name: "b"}, {Name: "__index_level_0__"}}
		MarkIndex(columns, said)
		got := ""
		for _, c := range columns {
			if c.Index {
				got += map[string]string{"a": "a", "b": "1", "__index_level_0__": "0"}[c.Name]
			}
		}
		if got != want && !(want == "01" && got == "10") {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}
