package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Difference is one difference that a client could notice.
type Difference struct {
	// Place is "status", "header content-type", or "body" followed by the path of the value, for example
	// body.session.title.
	Place, Want, Got string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Place, clip(d.Want), clip(d.Got))
}

func clip(text string) string {
	if len(text) > 300 {
		return text[:300] + "..."
	}
	return text
}

// anyValue are members that change with every run. Only their presence and type are compared.
var anyValue = map[string]bool{
	"pid": true, "durationMs": true, "processId": true, "version": true, "cliVersion": true, "revision": true,
	"gitInfo": true, "base_url": true, "tokenUsage": true, "usage": true, "usageMetadata": true, "ms": true,
	"deletedFileCount": true,
	// The model determines the size of the first delta.
	"delta": true,
	// The model writes a worker's output.
	"outputText": true,
}

// counters are queue counts that are not compared, because the recorded server also ran jobs of other topics. The
// model writes the text of an agentMessage, so it is not compared either.
var counters = map[string]bool{"queued": true, "running": true, "completed": true, "failed": true, "canceled": true,
	"projects": true}

// outcome is how a command ended. It depends on the machine's sandbox and the directory, not on the server.
var outcome = map[string]bool{"status": true, "exitCode": true, "aggregatedOutput": true}

// comparison walks two values in parallel.
type comparison struct {
	*bindings
	// anyOrder ignores the order of members, because the runtime's own objects have no fixed order.
	anyOrder bool
	found    []Difference
}

func (c *comparison) differ(place, want, got string) {
	c.found = append(c.found, Difference{Place: place, Want: want, Got: got})
}

func (c *comparison) values(place string, want, got *Value) {
	if strings.HasSuffix(place, ".context.turnId") && (want.kind() == "null" || got.kind() == "null") {
		return // a signal without a turn gets the running turn, which may become known slightly earlier or later
	}
	if last(place) == "requestId" && want.kind() == "number" {
		c.requestNumber(place, want, got)
		return
	}
	if want.kind() != got.kind() {
		c.differ(place, want.kind()+" "+string(want.Encode()), got.kind()+" "+string(got.Encode()))
		return
	}
	switch want.kind() {
	case "object":
		c.objects(place, want, got)
	case "array":
		c.arrays(place, want, got)
	case "string":
		c.texts(place, want.Text(), got.Text())
	default:
		if !sameScalar(want, got) && !anyValue[last(place)] {
			c.differ(place, string(want.Encode()), string(got.Encode()))
		}
	}
}

func (c *comparison) objects(place string, want, got *Value) {
	shared := make([]string, 0, len(want.keys))
	words, command := want.member("type") == "agentMessage", want.member("type") == "commandExecution" &&
		want.member("status") != "inProgress"
	for _, key := range want.keys {
		if member, has := got.Member(key); has {
			if command && key == "aggregatedOutput" && want.members[key].kind() != member.kind() {
				shared = append(shared, key)
				continue // null when there was none
			}
			shared = append(shared, key)
			if (anyValue[key] || words && (key == "text" || key == "content") || command && outcome[key] || counters[key] &&
				last(place) == "orchestratorQueue") && want.members[key].kind() == member.kind() {
				continue
			}
			c.values(place+"."+key, want.members[key], member)
		} else {
			c.differ(place+"."+key, string(want.members[key].Encode()), "nothing")
		}
	}
	for _, key := range got.keys {
		if _, has := want.Member(key); !has {
			c.differ(place+"."+key, "nothing", string(got.members[key].Encode()))
			if id := got.members[key]; key == "requestId" && !strings.HasPrefix(c.toRecorded[id.Text()], requestID("")) {
				c.differ(place+"."+key+" names", "a request of the recording", string(id.Encode()))
			}
		}
	}
	if !c.anyOrder {
		order := slices.DeleteFunc(slices.Clone(got.keys), func(key string) bool { return !slices.Contains(shared, key) })
		if !slices.Equal(shared, order) {
			c.differ(place+" order", strings.Join(shared, " "), strings.Join(order, " "))
		}
	}
}

// ownTypes are types of transcript entries that the original does not have.
var ownTypes = map[string]bool{"turn.stopped": true, "turn.error": true}

// originalEntries removes the transcript entries that the original does not have; each is a separate difference.
func (c *comparison) originalEntries(place string, got *Value) *Value {
	entries := *got
	entries.items = slices.DeleteFunc(slices.Clone(got.items), func(entry *Value) bool {
		kind := entry.member("type")
		if ownTypes[kind] {
			c.differ(place+" "+kind, "no such entry", string(entry.Encode()))
		}
		return ownTypes[kind]
	})
	return &entries
}

func (c *comparison) arrays(place string, want, got *Value) {
	if last(place) == "transcript" {
		got = c.originalEntries(place, got)
	}
	if len(want.items) != len(got.items) {
		c.differ(place+".length", strconv.Itoa(len(want.items))+" "+string(want.Encode()), strconv.Itoa(len(got.items))+" "+
			string(got.Encode()))
		return
	}
	for i := range want.items {
		c.values(place+"["+strconv.Itoa(i)+"]", want.items[i], got.items[i])
	}
}

// requestNumber compares the recorded runtime's request number with this server's id. One number always has the same
// id, except in the runtime's own messages, whose numbers belong to another process.
func (c *comparison) requestNumber(place string, want, got *Value) {
	number := string(want.Encode())
	switch got.kind() {
	case "string":
		if !c.bind(requestID(number), got.Text()) {
			c.differ(place, "the id bound to "+number, got.Text())
		}
	case "number":
		if ours := string(got.Encode()); !c.bind("native "+requestID(number), "native "+requestID(ours)) {
			c.differ(place, "the number bound to "+number, ours)
		}
	default:
		c.differ(place, "the id bound to "+number, string(got.Encode()))
	}
}

func (c *comparison) texts(place, want, got string) {
	switch last(place) {
	case "message":
		if strings.HasPrefix(want, `{"error"`) && strings.HasPrefix(got, `{"error"`) {
			return // the model's refusal in its own text
		}
	case "approvalId", "requestId":
		if _, err := strconv.Atoi(want); err == nil {
			if !c.bind(requestID(want), got) {
				c.differ(place, "the id bound to "+want, got)
			}
			return
		}
	case "nextCursor":
		c.bind("cursor "+want, got)
		return
	}
	if shown, images, has := strings.Cut(got, "\n[image] /api/sessions/"); has && last(place) == "content" {
		c.differ(place+" images", "none", images)
		got = shown
	}
	if !c.sameText(want, got) {
		c.differ(place, want, got)
	}
}

// The recordings' clock, in seconds; a number near it is a time.
const recordedAt, timeSpan = 1_795_224_000, 400 * 24 * 3600

func isTime(n float64) bool {
	for _, unit := range []float64{1, 1000} {
		if n > (recordedAt-timeSpan)*unit && n < (recordedAt+timeSpan)*unit {
			return true
		}
	}
	return false
}

func sameScalar(want, got *Value) bool {
	a, isNumber := want.scalar.(json.Number)
	if !isNumber {
		return want.scalar == got.scalar
	}
	b, _ := got.scalar.(json.Number)
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && (x == y || isTime(x) && isTime(y) && (x > 1e11) == (y > 1e11))
}

// last returns the name of the last member in a place, without an index.
func last(place string) string {
	place = place[strings.LastIndexByte(place, '.')+1:]
	name, _, _ := strings.Cut(place, "[")
	return name
}

// bodies compares two response bodies.
func (c *comparison) bodies(place, want, got string) {
	theirs, errTheirs := Decode([]byte(want))
	ours, errOurs := Decode([]byte(got))
	if errTheirs != nil || errOurs != nil {
		if !c.sameText(want, got) {
			c.differ(place, want, got)
		}
		return
	}
	c.values(place, theirs, ours)
}
