package codesdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Difference is one place where a response or event differs from the recording.
type Difference struct {
	// Subject is the request line or the event type. Place is the position in it. A missing member is -name, an
	// additional one is +name.
	Subject, Place string
	Want, Got      string
}

// String describes the difference in one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s, %s: recorded %.200s, got %.200s", d.Subject, d.Place, d.Want, d.Got)
}

// bindings maps the recording's names to the names on this server, in both directions.
type bindings struct {
	ours, theirs map[string]string
}

// bound reports whether two ids name the same object, and binds them when both are new.
func (b *bindings) bound(recorded, here string) bool {
	if known, is := b.ours[recorded]; is {
		return known == here
	}
	if recorded == here {
		return true // an unknown id, sent and returned as recorded
	}
	if _, taken := b.theirs[here]; taken {
		return false
	}
	b.ours[recorded], b.theirs[here] = here, recorded
	return true
}

// names are the patterns of texts that change with every run.
type names struct {
	id, hash, time *regexp.Regexp
}

func patterns() names {
	return names{
		id: regexp.MustCompile(`^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|` +
			`mock:\w+:\d|b\d)$`),
		hash: regexp.MustCompile(`^sha256:[0-9a-f]{64}$`),
		time: regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
	}
}

// words are members with text by the model or for people. counts are members that depend on another model's text, or
// on the number of events, which is higher here.
var (
	words  = []string{"text", "delta", "message"}
	counts = []string{"seq", "last_seq", "next_seq", "input_tokens", "output_tokens", "cached_input_tokens", "size_bytes"}
)

// comparison compares one subject.
type comparison struct {
	ids     *bindings
	names   names
	subject string
	found   []Difference
}

func (c *comparison) differ(place string, want, got any) {
	c.found = append(c.found, Difference{c.subject, place, written(want), written(got)})
}

func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// values compares two decoded JSON values.
func (c *comparison) values(place string, want, got any) {
	name := place[strings.LastIndexByte(place, '.')+1:]
	switch recorded := want.(type) {
	case map[string]any:
		here, is := got.(map[string]any)
		if !is {
			c.differ(place, want, got)
			return
		}
		for _, member := range slices.Sorted(maps.Keys(recorded)) {
			if value, there := here[member]; there {
				c.values(place+"."+member, recorded[member], value)
			} else {
				c.differ(place+".-"+member, recorded[member], nil)
			}
		}
		for _, member := range slices.Sorted(maps.Keys(here)) {
			if _, there := recorded[member]; !there {
				c.differ(place+".+"+member, nil, here[member])
			}
		}
	case []any:
		here, is := got.([]any)
		if !is || len(here) != len(recorded) {
			c.differ(place, want, got)
			return
		}
		for i := range recorded {
			c.values(place+"[]", recorded[i], here[i])
		}
	case float64:
		if here, is := got.(float64); !is || here != recorded && !slices.Contains(counts, name) {
			c.differ(place, want, got)
		}
	case string:
		if here, is := got.(string); !is || !c.texts(name, recorded, here) {
			c.differ(place, want, got)
		}
	default:
		if want != got {
			c.differ(place, want, got)
		}
	}
}

// texts reports whether two texts are equivalent.
func (c *comparison) texts(name, recorded, here string) bool {
	switch {
	case slices.Contains([]string{"next_after", "runtime_session_id", "runtime_tool_call_id"}, name):
		return here != "" // this server or the runtime interprets it
	case c.names.id.MatchString(recorded):
		return c.ids.bound(recorded, here)
	case recorded == here:
		return true
	case c.names.time.MatchString(recorded):
		return c.names.time.MatchString(here)
	case c.names.hash.MatchString(recorded):
		// The input of a tool is the same, but the input of a model has different text.
		return c.names.hash.MatchString(here) && !strings.HasPrefix(c.subject, "tool.")
	case slices.Contains(words, name):
		return here != ""
	}
	return false
}

// event is one event of a session.
type event = map[string]any

func kindOf(e event) string {
	kind, _ := e["type"].(string)
	return kind
}

func taskOf(e event) string {
	trace, _ := e["trace"].(event)
	id, _ := trace["task_id"].(string)
	return id
}

// joined merges the deltas of a text into one event.
func joined(events []event) (all []event) {
	for _, e := range events {
		if kindOf(e) == "model.output.delta" && len(all) > 0 && kindOf(all[len(all)-1]) == kindOf(e) {
			continue
		}
		all = append(all, e)
	}
	return all
}

// aligned pairs the events of two sequences by type, by their longest common subsequence. It pairs an event without a
// counterpart with nil.
func aligned(want, got []event) (pairs [][2]event) {
	longest := make([][]int, len(want)+1)
	for i := range longest {
		longest[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for k := len(got) - 1; k >= 0; k-- {
			longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			if kindOf(want[i]) == kindOf(got[k]) {
				longest[i][k] = longest[i+1][k+1] + 1
			}
		}
	}
	i, k := 0, 0
	for i < len(want) || k < len(got) {
		switch {
		case i < len(want) && k < len(got) && kindOf(want[i]) == kindOf(got[k]):
			pairs = append(pairs, [2]event{want[i], got[k]})
			i, k = i+1, k+1
		case k == len(got) || i < len(want) && longest[i+1][k] >= longest[i][k+1]:
			pairs = append(pairs, [2]event{want[i], nil})
			i++
		default:
			pairs = append(pairs, [2]event{nil, got[k]})
			k++
		}
	}
	return pairs
}

// events compares the events of a task, and maps each recorded number to the number on this server.
func (c *comparison) events(want, got []event) map[float64]float64 {
	numbers := map[float64]float64{}
	for _, pair := range aligned(joined(want), joined(got)) {
		switch recorded, here := pair[0], pair[1]; {
		case recorded == nil:
			c.subject = kindOf(here)
			c.differ("+event", nil, here["payload"])
		case here == nil:
			c.subject = kindOf(recorded)
			c.differ("-event", recorded["payload"], nil)
		default:
			c.subject = kindOf(recorded)
			c.values("event", recorded, here)
			was, _ := recorded["seq"].(float64)
			numbers[was], _ = here["seq"].(float64)
		}
	}
	return numbers
}
