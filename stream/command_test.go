package stream

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// ST-03..ST-08: which messages are commands and which are not, as recorded.
func TestParseCommand(t *testing.T) {
	t.Parallel()
	after := func(n int64) *cursor { return &cursor{after: n} }
	for text, want := range map[string]command{
		`{"type":"ping"}`:                     {kind: commandPing},
		`{"type":"ping","extra":1}`:           {kind: commandPing},
		`{"type":"nope","type":"ping"}`:       {kind: commandPing},
		`{"type":"unsubscribe","after":-1}`:   {kind: commandUnsubscribe},
		`{"type":"subscribe","threadId":"A"}`: {kind: commandSubscribe, filter: "A"},
		`{"type":"subscribe","threadId":"A","after":0}`: {kind: commandSubscribe, filter: "A",
			cursor: after(0)},
		`{"type":"subscribe","threadId":null,"after":48}`: {kind: commandSubscribe, cursor: after(48)},
		`{"type":"subscribe","threadId":null,"after":"latest"}`: {kind: commandSubscribe,
			cursor: &cursor{latest: true}},
		`{"type":"subscribe"}`:                                            {},
		`{"type":"subscribe","after":1}`:                                  {},
		`{"type":"subscribe","threadId":""}`:                              {},
		`{"type":"subscribe","threadId":"","after":1}`:                    {},
		`{"type":"subscribe","threadId":5}`:                               {},
		`{"type":"subscribe","threadId":null}`:                            {},
		`{"type":"subscribe","threadId":"A","after":-1}`:                  {},
		`{"type":"subscribe","threadId":"A","after":1.5}`:                 {},
		`{"type":"subscribe","threadId":"A","after":1e3}`:                 {},
		`{"type":"subscribe","threadId":"A","after":"1"}`:                 {},
		`{"type":"subscribe","threadId":"A","after":null}`:                {},
		`{"type":"subscribe","threadId":"A","after":9223372036854775808}`: {},
		`{"Type":"ping"}`:                                                 {},
		`{"type":"PING"}`:                                                 {},
		`{"type":5}`:                                                      {},
		`{}`:                                                              {}, `[]`: {}, `null`: {}, `"ping"`: {}, `1`: {},
		`   `: {}, `not json`: {}, `{"type":"ping"`: {}, `{"type":"ping"}x`: {},
	} {
		got := parseCommand([]byte(text))
		same := got.kind == want.kind && got.filter == want.filter && (got.cursor == nil) == (want.cursor == nil)
		if same && got.cursor != nil {
			same = *got.cursor == *want.cursor
		}
		if !same {
			t.Errorf("%s: got %+v (cursor %v), want %+v", text, got, got.cursor, want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{
		`{"type":"ping"}`, `{"type":"subscribe","threadId":"A","after":1}`,
		`{"type":"subscribe","threadId":null,"after":"latest"}`, `{"type":"unsubscribe"}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := parseCommand(data)
		if got.kind != commandInvalid && !json.Valid(data) {
			t.Errorf("%q is no JSON and was taken as %+v", data, got)
		}
		if got.kind != commandSubscribe && (got.filter != "" || got.cursor != nil) {
			t.Errorf("%q: %+v has a filter or a cursor", data, got)
		}
		if got.kind == commandSubscribe && got.filter == "" && got.cursor == nil {
			t.Errorf("%q subscribes to nothing", data)
		}
		if got.cursor != nil && got.cursor.after < 0 {
			t.Errorf("%q has a negative cursor", data)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	for _, seed := range []string{"0", "1", "latest", "-1", "+1", "", " 1", "0x1", "9223372036854775807",
		"9223372036854775808", "1_0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseCursor(text)
		switch {
		case !ok && got != cursor{}:
			t.Errorf("%q is refused with a cursor %+v", text, got)
		case ok && !got.latest:
			if want, err := strconv.ParseUint(text, 10, 63); err != nil || int64(want) != got.after { //nolint:gosec // 63 bits
				t.Errorf("%q is taken as %d", text, got.after)
			}
			// Every cursor belongs to exactly one event and can be status.
			if event := eventOf(got.after); startOf(event) > got.after || endOf(event) < got.after && event > 0 {
				t.Errorf("cursor %d is outside its event %d", got.after, event)
			}
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(`{"method":"turn/started","params":{}}`, `{"turnId":"t"}`)
	f.Add(`{"method":"item/tool/call","id":1}`, `{"request":{"kind":"tool_call"}}`)
	f.Fuzz(func(t *testing.T, line, meta string) {
		if !json.Valid([]byte(line)) || !json.Valid([]byte(meta)) || strings.Contains(strings.ToLower(meta), "layout") {
			return // the journal stores only valid JSON, and version 1 wrote no layout
		}
		for _, kind := range []string{EventNotification, EventRequest, "other"} {
			rec := old(kind, line, meta)
			frames, err := Frames(rec)
			if err != nil {
				continue
			}
			if len(frames) == 0 || len(frames) > framesPerEvent {
				t.Errorf("%d frames", len(frames))
			}
			for i := range frames {
				if out := frames[i].AppendJSON(nil, true); !json.Valid(out) {
					t.Errorf("frame %d is no JSON: %s", i, out)
				}
			}
		}
	})
}
