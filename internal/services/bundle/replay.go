package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/tasks"
	"harness/stream"
)

// Difference is a difference between a bundle and its replay.
type Difference struct {
	// Of is the compared kind, "event" or "line"; Number is the event's number, or the line's index.
	Of     string `json:"of"`
	Number int64  `json:"number"`
	// Bundle is the bundle's value, Replay the replay's; "" if missing.
	Bundle string `json:"bundle"`
	Replay string `json:"replay"`
}

// String describes it in three lines.
func (d Difference) String() string {
	word := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return s
	}
	return fmt.Sprintf("%s %d\n  bundle: %s\n  replay: %s", d.Of, d.Number, word(d.Bundle), word(d.Replay))
}

// Result is the result of a replay.
type Result struct {
	// Events and Lines count the comparisons, Messages those of lines that are complete messages of the agent.
	Events   int `json:"events"`
	Lines    int `json:"lines"`
	Messages int `json:"messages"`
	// Notes list what was not compared, and why.
	Notes       []string     `json:"notes"`
	Differences []Difference `json:"differences"`
}

// Adapter reads lines of a runtime without its agent. Both members may be nil.
type Adapter struct {
	// Translate translates lines as an agent wrote them (session.NativeRing) into the vocabulary, without knowledge of
	// earlier lines.
	Translate func(sessionID, cwd string, lines []json.RawMessage) []runtime.Signal
	// Read reads a line of a runtime that uses the vocabulary itself: its records are its original lines.
	Read func(line json.RawMessage) (runtime.Signal, error)
}

// Replay derives the events of a bundle from its records, as the server did, and compares both. The adapter of the
// runtime reads the agent's lines, and Replay compares the messages in them.
func Replay(b *Bundle, adapter Adapter) *Result {
	result := &Result{Notes: []string{}, Differences: []Difference{}}
	if len(b.Records) == 0 {
		result.Notes = append(result.Notes, "the bundle has no records: nothing happened in the session, or they were pruned")
	}
	result.lines(b, adapter.Read)
	switch {
	case adapter.Read == nil:
		result.natives(b, adapter.Translate)
	case result.Messages == 0:
		result.Notes = append(result.Notes, "no message of the agent was compared: the records have none")
	}
	about := b.Manifest.About
	if about.SessionID == "" { // a bundle of an earlier version
		about = tasks.About{SessionID: b.Manifest.SessionID, Runtime: b.Manifest.Runtime, CreatedAt: b.Manifest.CreatedAt}
	}
	derived := tasks.Events(about, b.Records)
	recorded := b.Events
	if b.Manifest.Oldest > 1 {
		result.Notes = append(result.Notes,
			fmt.Sprintf("records before number %d are not kept any more: tasks that were begun before "+
				"are not compared", b.Manifest.Oldest))
		recorded, derived = whole(recorded), whole(derived)
	}
	for i := range max(len(recorded), len(derived)) {
		var want, got *tasks.Event
		if i < len(recorded) {
			want = &recorded[i]
		}
		if i < len(derived) {
			got = &derived[i]
		}
		result.Events++
		if d, differ := compare(want, got, b.Manifest); differ {
			result.Differences = append(result.Differences, d)
			if want == nil || got == nil || want.Type != got.Type {
				return result // all later events are merely shifted
			}
		}
	}
	return result
}

// lines rereads every line of the vocabulary: the result must have the stored turn and item.
func (r *Result) lines(b *Bundle, own func(json.RawMessage) (runtime.Signal, error)) {
	for i := range b.Records {
		record := &b.Records[i]
		if record.Type != stream.EventNotification && record.Type != stream.EventRequest {
			continue
		}
		method, layout, ok := wire.LayoutOf(record.Payload)
		if !ok {
			continue // a form from before versioned layouts
		}
		r.Lines++
		signal := wire.Read(bytes.Clone(record.Payload), method, layout)
		id, _ := messageOf(record.Payload)
		if own != nil && record.Source == b.Manifest.Runtime {
			var err error
			if signal, err = own(bytes.Clone(record.Payload)); err != nil {
				r.Differences = append(r.Differences, Difference{"line", record.Seq, string(record.Payload), err.Error()})
				continue
			}
			if id != "" {
				r.Messages++
			}
		}
		kind := stream.EventNotification
		if signal.Kind == runtime.SignalRequest {
			kind = stream.EventRequest
		}
		stored := read{record.Type, database.DecodeText(record.TurnID), database.DecodeText(record.ItemID)}
		again := read{kind, signal.TurnID, signal.ItemID}
		// The server knew from elsewhere what the line does not name.
		if stored.kind != again.kind || again.turn != "" && stored.turn != again.turn || again.item != "" &&
			stored.item != again.item {
			r.Differences = append(r.Differences, Difference{"line", record.Seq, stored.String(), again.String()})
		}
	}
}

// natives translates the agent's lines: each message that the records contain must have the same text. The agent's
// other actions depend on responses that are not among its lines.
func (r *Result) natives(b *Bundle, translate func(string, string, []json.RawMessage) []runtime.Signal) {
	again := map[string]string{}
	if translate != nil {
		var about struct{ Cwd string }
		_ = json.Unmarshal(b.Files["session.json"], &about) // without it, no folder is known
		for _, signal := range translate(b.Manifest.SessionID, about.Cwd, b.Native) {
			if id, text := messageOf(signal.Raw); id != "" {
				again[id] = text
			}
		}
	}
	all := 0
	for i := range b.Records {
		id, text := messageOf(b.Records[i].Payload)
		if id == "" {
			continue
		}
		all++
		said, is := again[id]
		if !is {
			continue
		}
		r.Lines++
		r.Messages++
		if said != text && !strings.Contains(said+text, telemetry.Redacted) {
			r.Differences = append(r.Differences, Difference{"line", b.Records[i].Seq, text, said})
		}
	}
	if r.Messages == all && all > 0 {
		return
	}
	var why string
	switch {
	case all == 0:
		why = "the records have none"
	case len(b.Native) == 0:
		why = "the bundle has no lines as " + b.Manifest.Runtime + " wrote them (the server keeps them with HARNESS_KEEP_NATIVE=ring or all)"
	case translate == nil:
		why = "this program does not translate lines of " + b.Manifest.Runtime + " without the agent"
	default:
		why = "the others were said before the lines that are kept, or their lines are of a server that did not keep enough of them"
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%d of %d messages of the agent were compared with what it wrote: %s",
		r.Messages, all, why))
}

// messageOf returns the id and text of a complete message of the agent, "" for other lines.
func messageOf(line json.RawMessage) (id, text string) {
	method, layout, ok := wire.LayoutOf(line)
	if !ok || method != wire.MethodItemCompleted {
		return "", ""
	}
	item := wire.Members(layout.Params.Of(line), "item")[0]
	members := wire.Members(item, "type", "id", "text")
	if wire.Text(members[0]) != wire.ItemAgentMessage {
		return "", ""
	}
	return wire.Text(members[1]), wire.Text(members[2])
}

// read is the data that is stored with a line.
type read struct{ kind, turn, item string }

// String formats it for a Difference.
func (r read) String() string { return fmt.Sprintf("%s of turn %q, item %q", r.kind, r.turn, r.item) }

// whole returns the events of tasks with a start among the events.
func whole(events []tasks.Event) (all []tasks.Event) {
	begun := map[string]bool{}
	for _, e := range events {
		if e.Type == tasks.TaskStarted {
			begun[e.Trace.TaskID] = true
		}
		if begun[e.Trace.TaskID] {
			all = append(all, e)
		}
	}
	return all
}

// compare compares two events. If a secret was redacted, before or after a text was cut or hashed, it compares only
// their subject.
func compare(want, got *tasks.Event, of Manifest) (Difference, bool) {
	d := Difference{Of: "event"}
	if want != nil {
		d.Number, d.Bundle = want.Seq, string(javascript.MustEncode(want))
	}
	if got != nil {
		if want != nil && of.Oldest > 1 {
			got.Seq = want.Seq
		}
		d.Number, d.Replay = got.Seq, string(javascript.MustEncode(got))
	}
	if want == nil || got == nil {
		return d, true
	}
	if d.Bundle == d.Replay {
		return d, false
	}
	if strings.Contains(d.Bundle+d.Replay, telemetry.Redacted) || of.Redacted > 0 && cleaned(want, got) {
		same := want.Seq == got.Seq && want.Type == got.Type && want.Time == got.Time && want.Trace == got.Trace &&
			callOf(want) == callOf(got)
		return d, !same
	}
	return d, true
}

// cleaned reports whether two events differ only in hashes computed before the redaction.
func cleaned(want, got *tasks.Event) bool {
	var recorded, derived map[string]json.RawMessage
	if json.Unmarshal(want.Payload, &recorded) != nil || json.Unmarshal(got.Payload, &derived) != nil {
		return false
	}
	delete(recorded, "input_hash")
	delete(derived, "input_hash")
	return string(javascript.MustEncode(recorded)) == string(javascript.MustEncode(derived))
}

// callOf returns the id of the tool call that an event is about, "" for none.
func callOf(e *tasks.Event) string {
	var about struct {
		ID string `json:"tool_call_id"`
	}
	_ = json.Unmarshal(e.Payload, &about) // it is about no call
	return about.ID
}

// Print prints a result for people.
func (r *Result) Print(w io.Writer) error {
	var out strings.Builder
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	for _, d := range r.Differences {
		fmt.Fprintln(&out, d)
	}
	fmt.Fprintf(&out, "%d lines of the agent (%d messages) and %d events compared, %d differ\n", r.Lines, r.Messages, r.Events,
		len(r.Differences))
	_, err := io.WriteString(w, out.String())
	return err
}
