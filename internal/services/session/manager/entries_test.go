package manager

import (
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/transcript"
)

// The texts and the key order match the recordings of codex-manager.
func TestEntriesAsRecorded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request                    session.Request
		reply                      runtime.Reply
		details, resolved, expired string
	}{
		"approval": {
			request: session.Request{ID: "4", Kind: runtime.RequestApproval, Method: "item/fileChange/requestApproval",
				Summary: "File change approval required",
				Params: []byte(
					`{"threadId":"T","turnId":"U","itemId":"call_93_0","startedAtMs":1795224560148,"reason":null,"grantRoot":null}`)},
			reply: runtime.Reply{Decision: "accept"},
			details: "{\n  \"method\": \"item/fileChange/requestApproval\",\n  \"createdAt\": " +
				"\"2026-11-21T01:29:20.150Z\",\n  \"threadId\": \"T\",\n" +
				"  \"turnId\": \"U\",\n  \"itemId\": \"call_93_0\",\n  \"startedAtMs\": 1795224560148,\n  \"reason\": null,\n  \"grantRoot\": null\n}",
			resolved: "{\n  \"approvalId\": \"4\",\n  \"status\": \"resolved\",\n  \"decision\": \"accept\",\n  \"scope\": \"turn\"\n}",
			expired:  "{\n  \"approvalId\": \"4\",\n  \"status\": \"expired\"\n}",
		},
		"tool call": {
			request: session.Request{ID: "17", Kind: runtime.RequestToolCall, Method: "item/tool/call",
				Summary: "Tool call requested: lookup_ticket",
				Params: []byte(
					`{"threadId":"T","turnId":"U","callId":"call_154_0","namespace":null,"tool":"lookup_ticket","arguments":{"id":"T-1"}}`)},
			reply: runtime.Reply{Success: true},
			details: "{\n  \"method\": \"item/tool/call\",\n  \"createdAt\": \"2026-11-21T01:29:20.150Z\",\n  \"tool\": \"lookup_ticket\",\n" +
				"  \"callId\": \"call_154_0\",\n  \"arguments\": {\n    \"id\": \"T-1\"\n  },\n  \"threadId\": \"T\",\n  " +
				"\"turnId\": \"U\",\n  \"namespace\": null\n}",
			resolved: "{\n  \"requestId\": \"17\",\n  \"status\": \"resolved\",\n  \"success\": true\n}",
			expired:  "{\n  \"requestId\": \"17\",\n  \"status\": \"expired\",\n  \"success\": false\n}",
		},
		"tool input": {
			request: session.Request{ID: "11", Kind: runtime.RequestToolInput, Method: "item/tool/requestUserInput",
				Summary: "Tool input required (1 question)",
				Params:  []byte(`{"threadId":"T","questions":[{"id":"q1","isOther":true}],"isBlocking":false}`)},
			reply: runtime.Reply{Decision: "cancel"},
			details: "{\n  \"method\": \"item/tool/requestUserInput\",\n  \"createdAt\": \"2026-11-21T01:29:20.150Z\",\n  " +
				"\"questions\": [\n    {\n" +
				"      \"id\": \"q1\",\n      \"isOther\": true\n    }\n  ],\n  \"threadId\": \"T\",\n  \"isBlocking\": false\n}",
			resolved: "{\n  \"requestId\": \"11\",\n  \"status\": \"resolved\",\n  \"decision\": \"cancel\"\n}",
			expired:  "{\n  \"requestId\": \"11\",\n  \"status\": \"expired\"\n}",
		},
		"no parameters": {
			request:  session.Request{ID: "1", Kind: runtime.RequestApproval, Method: "m", Params: []byte(`[1]`)},
			reply:    runtime.Reply{Decision: "accept", Scope: "session"},
			details:  "{\n  \"method\": \"m\",\n  \"createdAt\": \"2026-11-21T01:29:20.150Z\"\n}",
			resolved: "{\n  \"approvalId\": \"1\",\n  \"status\": \"resolved\",\n  \"decision\": \"accept\",\n  \"scope\": \"session\"\n}",
			expired:  "{\n  \"approvalId\": \"1\",\n  \"status\": \"expired\"\n}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := test.request
			request.CreatedAt = 1795224560150
			if got := entryof.Request(request); *got.Details != test.details || got.Content != request.Summary ||
				got.Status != transcript.Complete {
				t.Errorf("request %+v\n%s", got, *got.Details)
			}
			request.Status, request.Reply = session.RequestResolved, &test.reply
			if got := *entryof.Resolution(request).Details; got != test.resolved {
				t.Errorf("resolved %s", got)
			}
			request.Status, request.Reply = session.RequestExpired, nil
			if got := *entryof.Resolution(request).Details; got != test.expired {
				t.Errorf("expired %s", got)
			}
		})
	}
}

func TestEntryOfItemTimes(t *testing.T) {
	t.Parallel()
	item := runtime.Item{ID: "i"}
	started := entryof.Item("t", runtime.ItemChanged{Item: item}, 50)
	if *started.StartedAt != 50 || started.CompletedAt != nil || started.Status != transcript.Streaming {
		t.Errorf("started %+v", started)
	}
	done := entryof.Item("t", runtime.ItemChanged{Item: item, Done: true}, 60)
	if done.StartedAt != nil || *done.CompletedAt != 60 || done.Status != transcript.Complete {
		t.Errorf("done %+v", done)
	}
	item.StartedAt, item.CompletedAt = 41, 55
	if known := entryof.Item("t", runtime.ItemChanged{Item: item, Done: true}, 60); *known.StartedAt != 41 ||
		*known.CompletedAt != 55 {
		t.Errorf("with the runtime's own times %+v", known)
	}
}

// A long item is shown like any other, with all its details. It may be long from its start or only at its end.
func TestALongItemIsShownWhole(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		raw := encode(map[string]any{"type": "commandExecution", "id": "c", "command": "yes",
			"aggregatedOutput": strings.Repeat("said \"\\n\"\n", runtime.LongItem/8)})
		item, ok := wire.ReadItem(raw)
		if !ok || item.Long == nil || item.Details != "" {
			t.Fatalf("read as %.200v", item)
		}
		for _, done := range []bool{false, true} {
			k.fake.item(s.ID, turn, item, done)
			k.flush()
			entries := k.stored(s.ID)
			if len(entries) != 1 || entries[0].Details == nil || *entries[0].Details != transcript.Indented(raw) ||
				entries[0].Status.Final() != done {
				t.Errorf("done %v: stored %d entries, the first %.200v", done, len(entries), entries[0])
			}
		}
	})
}
