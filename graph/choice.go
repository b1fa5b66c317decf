package graph

import (
	"encoding/json"
	"fmt"
)

// Choice is a kind of something by name, with its settings: in JSON the name alone, or an object with the name as
// "type" and the settings beside it.
type Choice struct {
	Type string
	Num  map[string]float64 // settings that are numbers
	Text map[string]string  // settings that are words
}

// Named is the choice without settings.
func Named(name string) *Choice { return &Choice{Type: name} }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Choice) UnmarshalJSON(src []byte) error {
	*c = Choice{}
	if len(src) > 0 && src[0] == '"' {
		return json.Unmarshal(src, &c.Type)
	}
	var all map[string]any
	if err := json.Unmarshal(src, &all); err != nil {
		return fmt.Errorf("%s is neither a name nor an object with a type", clip(src))
	}
	for name, v := range all {
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
			return fmt.Errorf("setting %q in %s: want a number or a word", name, clip(src))
		}
	}
	if c.Type == "" {
		return fmt.Errorf("%s has no type", clip(src))
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
