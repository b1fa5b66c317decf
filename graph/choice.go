package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"thole.example/internal/spell"
)

// Choice is a kind of something by name, with its settings: in JSON the name alone, or an object with the name as
// "type" and the settings beside it, in letters of any case.
type Choice struct {
	Type string
	Num  map[string]float64 // settings that are numbers
	Text map[string]string  // settings that are words
}

// Named is the choice without settings.
func Named(name string) *Choice { return &Choice{Type: name} }

// Check refuses settings that are neither among those known, of which the error names the nearest, nor among others that are
// taken too, and those that are words: all settings are numbers.
func (c *Choice) Check(known []string, others ...string) error {
	all := slices.Sorted(maps.Keys(c.Num))
	for _, name := range append(all, slices.Sorted(maps.Keys(c.Text))...) {
		if !slices.Contains(known, name) && !slices.Contains(others, name) {
			return spell.Unknown("no setting", name, known)
		}
		if text, word := c.Text[name]; word {
			return fmt.Errorf("setting %s is the text %.60q, want a number, without quotes", name, text)
		}
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Choice) UnmarshalJSON(src []byte) error {
	*c = Choice{}
	if len(src) > 2 && src[0] == '"' {
		return json.Unmarshal(src, &c.Type)
	}
	var all map[string]any
	if err := json.Unmarshal(src, &all); err != nil {
		return &settingError{src, "want a name or an object with a type"}
	}
	for name, v := range all {
		name = folded(name)
		switch v := v.(type) {
		case float64:
			if c.Num == nil {
				c.Num = map[string]float64{}
			}
			c.Num[name] = v
		case string:
			if name == "type" {
				c.Type = v
				continue
			}
			if c.Text == nil {
				c.Text = map[string]string{}
			}
			c.Text[name] = v
		default:
			return &settingError{src, fmt.Sprintf("setting %q, want a number or a word", name)}
		}
	}
	if c.Type == "" {
		return &settingError{src, "no type, want the name of one"}
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (c Choice) MarshalJSON() ([]byte, error) {
	if len(c.Num) == 0 && len(c.Text) == 0 {
		return json.Marshal(c.Type)
	}
	all := map[string]any{}
	for name, v := range c.Num {
		all[name] = v
	}
	for name, v := range c.Text {
		all[name] = v
	}
	all["type"] = c.Type
	return json.Marshal(all)
}

// clip is src, cut where it would fill the screen.
func clip(src []byte) string {
	const most = 60
	if len(src) > most {
		return string(src[:most]) + "..."
	}
	return string(src)
}
