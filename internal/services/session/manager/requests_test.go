package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/stream"
)

var kinds = []struct {
	kind                                             runtime.RequestKind
	method, params, prefix                           string
	reply                                            runtime.Reply
	event                                            string
	payload, content, expiredPayload, expiredContent string
	requestType, resolvedType, leading               string
}{
	{
		kind: runtime.RequestApproval, method: "item/commandExecution/requestApproval",
		params: `{"command":"ls","turnId":"x"}`, prefix: "approval-", reply: runtime.Reply{Decision: "accept"},
		event: "approval_resolved", payload: `{"approvalId":"%s","status":"resolved","decision":"accept","scope":"turn","decidedBy":"user"}`,
		content: "Approval resolved (accept)", expiredPayload: `{"approvalId":"%s","status":"expired"}`,
		expiredContent: "Approval expired", requestType: "approval.request", resolvedType: "approval.resolved",
		leading: "command",
	},
	{
		kind: runtime.RequestToolInput, method: "item/tool/requestUserInput",
		params: `{"threadId":"t","questions":[{"id":"q"}]}`, prefix: "tool-input-", reply: runtime.Reply{Decision: "decline"},
		event: "tool_user_input_resolved", payload: `{"requestId":"%s","status":"resolved","decision":"decline","decidedBy":"user"}`,
		content: "Tool input resolved (decline)", expiredPayload: `{"requestId":"%s","status":"expired"}`,
		expiredContent: "Tool input expired", requestType: "tool_input.request", resolvedType: "tool_input.resolved",
		leading: "questions",
	},
	{
		kind: runtime.RequestToolCall, method: "item/tool/call",
		params: `{"threadId":"t","callId":"c","tool":"look","arguments":{"a":1}}`, prefix: "tool-call-",
		reply: runtime.Reply{Success: true, ContentItems: json.RawMessage(`[]`)}, event: "tool_call_resolved",
		payload:        `{"requestId":"%s","status":"resolved","success":true,"decidedBy":"user"}`,
		content:        "Tool call resolved (success=true)",
		expiredPayload: `{"requestId":"%s","status":"expired","success":false}`,
		expiredContent: "Tool call expired (success=false)", requestType: "tool_call.request",
		resolvedType: "tool_call.resolved", leading: "tool",
	},
}

// SE-11 and the recorded texts: a request is a row, one transcript entry that later shows the outcome, and one answer.
func TestRequestIsSettled(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		for i, want := range kinds {
			k.fake.ask(s.ID, turnID, i, want.kind, want.method, want.params)
			pending := k.pending(s.ID, want.kind)
			if len(pending) != 1 {
				t.Fatalf("%s: %d pending", want.kind, len(pending))
			}
			request := pending[0]
			if request.Summary != "May I?" || request.TurnID != turnID || request.ItemID != "item" ||
				string(request.Params) != want.params {
				t.Errorf("pending %+v", request)
			}
			events := k.events(stream.EventRequest)
			meta := metaOf(t, events[len(events)-1])
			if meta.RequestID == nil || *meta.RequestID != request.ID {
				t.Errorf("%s: the signal names %v, not %s", want.kind, meta.RequestID, request.ID)
			}
			if ref := meta.Request; ref == nil || ref.ID != request.ID || ref.Kind != string(want.kind) ||
				ref.CreatedAt != request.CreatedAt || ref.TurnID != turnID {
				t.Errorf("%s: event names %+v", want.kind, ref)
			}
			asked := k.stored(s.ID)[i]
			var details map[string]json.RawMessage
			if err := json.Unmarshal([]byte(*asked.Details), &details); err != nil || details[want.leading] == nil ||
				asked.MessageID != want.prefix+request.ID || asked.Type != want.requestType || asked.Content != "May I?" {
				t.Errorf("entry %+v, details %s", asked, *asked.Details)
			}

			settled, err := k.Settle(t.Context(), request.ID, want.kind, want.reply, "user")
			k.do(err)
			if settled.Status != session.RequestResolved || settled.DecidedBy != "user" {
				t.Errorf("settled %+v", settled)
			}
			if got := k.one(want.event); got != fmt.Sprintf(want.payload, request.ID) {
				t.Errorf("event %s", got)
			}
			entry := k.stored(s.ID)[i]
			if entry.Type != want.resolvedType || entry.Content != want.content || entry.CompletedAt == nil ||
				*entry.StartedAt != request.CreatedAt {
				t.Errorf("entry %+v", entry)
			}
			if _, err := k.Settle(t.Context(), request.ID, "other", want.reply, "user"); !errors.Is(err, session.ErrRequestNotFound) {
				t.Errorf("settling as another kind: %v", err)
			}
			if len(k.pending(s.ID, want.kind)) != 0 {
				t.Error("still pending")
			}
			// The runtime's later report that it is closed changes nothing.
			k.fake.notify(s.ID, "", "serverRequest/resolved", runtime.RequestResolved{RequestID: json.RawMessage(fmt.Sprint(i))})
			published := k.events(stream.EventNotification)
			if meta := metaOf(t, published[len(published)-1]); meta.RequestID == nil || *meta.RequestID != request.ID {
				t.Errorf("%s: the signal of its end names %v, not %s", want.kind, meta.RequestID, request.ID)
			}
		}
		// A request that was refused, or that arrived before this server started, has no id here. The signal says so.
		k.fake.notify(s.ID, "", "serverRequest/resolved", runtime.RequestResolved{RequestID: json.RawMessage("99")})
		published := k.events(stream.EventNotification)
		if meta := metaOf(t, published[len(published)-1]); meta.RequestID == nil || *meta.RequestID != "" {
			t.Errorf("an unknown request is named %v", meta.RequestID)
		}
		_, answers := k.fake.seen()
		if len(answers) != len(kinds) || answers[0].Decision != "accept" || answers[1].Decision != "decline" ||
			!answers[2].Success {
			t.Errorf("answers %+v", answers)
		}
		if ref := k.fake.refs[1]; string(ref.RequestID) != "1" || ref.Generation != k.fake.generation ||
			ref.Method != kinds[1].method {
			t.Errorf("answered %+v", ref)
		}
		if n := len(k.events("approval_resolved")); n != 1 {
			t.Errorf("%d approval_resolved", n)
		}
	})
}

// SE-10: of 64 concurrent decisions, one wins, one answer is sent, and all others learn who won.
func TestDecidersHaveOneWinner(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.ask(s.ID, k.send(s.ID), 0, runtime.RequestApproval, "m", "{}")
		id := k.pending(s.ID, runtime.RequestApproval)[0].ID

		const deciders = 64
		var (
			wait    sync.WaitGroup
			mu      sync.Mutex
			winners []string
			losers  []string
		)
		for i := range deciders {
			wait.Go(func() {
				me := fmt.Sprint("user-", i)
				request, err := k.Settle(t.Context(), id, runtime.RequestApproval,
					runtime.Reply{Decision: "decline", Scope: "session"}, me)
				mu.Lock()
				defer mu.Unlock()
				var settled *session.SettledError
				switch {
				case err == nil && request.DecidedBy == me:
					winners = append(winners, me)
				case errors.As(err, &settled) && settled.Request.Status == session.RequestResolved &&
					settled.Request.Reply.Decision == "decline":
					losers = append(losers, settled.Request.DecidedBy)
				default:
					t.Errorf("%s: %+v, %v", me, request, err)
				}
			})
		}
		wait.Wait()
		_, answers := k.fake.seen()
		if len(winners) != 1 || len(losers) != deciders-1 || len(answers) != 1 {
			t.Fatalf("%d winners, %d losers, %d answers", len(winners), len(losers), len(answers))
		}
		for _, named := range losers {
			if named != winners[0] {
				t.Errorf("a loser got the answer that %s won, it was %s", named, winners[0])
			}
		}
		if want := `{"approvalId":"` + id + `","status":"resolved","decision":"decline","scope":"session","decidedBy":"` +
			winners[0] + `"}`; k.one(
			"approval_resolved") != want {
			t.Errorf("event %s", k.one("approval_resolved"))
		}
	})
}

// If a client disconnects while its decision is in progress, either nothing is decided or the decision is sent. The
// runtime never waits for a settled request.
func TestADeciderWhoHangsUpLeavesNoTurnWaiting(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.ask(s.ID, k.send(s.ID), 0, runtime.RequestApproval, "m", "{}")
		id := k.pending(s.ID, runtime.RequestApproval)[0].ID
		gone, hangUp := context.WithCancel(t.Context())
		hangUp()
		_, err := k.Settle(gone, id, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
		pending := k.pending(s.ID, runtime.RequestApproval)
		if _, answers := k.fake.seen(); len(answers)+len(pending) != 1 {
			t.Errorf("%d answers, %d pending (%v)", len(answers), len(pending), err)
		}
	})
}

func TestAnswerThatComesTooLate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.answerErr = runtime.ErrRequestGone
		k.fake.ask(s.ID, k.send(s.ID), 0, runtime.RequestApproval, "m", "{}")
		id := k.pending(s.ID, runtime.RequestApproval)[0].ID
		if request, err := k.Settle(t.Context(), id, runtime.RequestApproval, runtime.Reply{Decision: "accept"},
			"user"); err != nil || request.Status != session.RequestResolved {
			t.Errorf("%+v, %v", request, err)
		}
		if _, err := k.Settle(t.Context(), "nope", runtime.RequestApproval, runtime.Reply{}, "user"); !errors.Is(err,
			session.ErrRequestNotFound) {
			t.Errorf("unknown request: %v", err)
		}
		if requests, err := k.Requests(t.Context(), "no\x00body", runtime.RequestApproval); err != nil || len(requests) != 0 {
			t.Errorf("requests of an unknown session: %v, %v", requests, err)
		}
	})
}

// The runtime drops a request with its turn; for some kinds it does not report that.
func TestRequestsEndWithTheirTurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		ids := map[runtime.RequestKind]string{}
		for i, want := range kinds {
			k.fake.ask(s.ID, turnID, i, want.kind, want.method, want.params)
			ids[want.kind] = k.pending(s.ID, want.kind)[0].ID
		}
		k.fake.notify(s.ID, "", "serverRequest/resolved", runtime.RequestResolved{RequestID: json.RawMessage("0")})
		if len(k.pending(s.ID, runtime.RequestApproval)) != 0 || len(k.pending(s.ID, runtime.RequestToolInput)) != 1 {
			t.Error("exactly the closed request should be gone")
		}
		k.fake.end(s.ID, turnID, runtime.TurnInterrupted)
		entries := k.stored(s.ID)
		for i, want := range kinds {
			if got := k.one(want.event); got != fmt.Sprintf(want.expiredPayload, ids[want.kind]) {
				t.Errorf("event %s", got)
			}
			if entries[i].Content != want.expiredContent || entries[i].Type != want.resolvedType {
				t.Errorf("entry %+v", entries[i])
			}
			var settled *session.SettledError
			_, err := k.Settle(t.Context(), ids[want.kind], want.kind, want.reply, "user")
			if !errors.As(err, &settled) || settled.Request.Status != session.RequestExpired || settled.Request.DecidedBy != "codex" {
				t.Errorf("settling an expired request: %v", err)
			}
		}
		if _, answers := k.fake.seen(); len(answers) != 0 {
			t.Errorf("answers %+v", answers)
		}
		// The end of the turn is published after the end of its requests.
		records := k.records()
		if last := records[len(records)-1]; last.Type != stream.EventNotification {
			t.Errorf("the last event is %s", last.Type)
		}
	})
}

// A native id that comes again from another process is a new request; from the same process it is the same request.
func TestNativeIDsRepeat(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", "{}")
		first := k.pending(s.ID, runtime.RequestApproval)
		events := k.events(stream.EventRequest)
		if len(first) != 1 || metaOf(t, events[0]).Request.ID != metaOf(t, events[1]).Request.ID {
			t.Errorf("%d pending after it was asked twice", len(first))
		}
		k.fake.exited()
		k.fake.started(ids.New())
		k.fake.ask(s.ID, k.send(s.ID), 0, runtime.RequestApproval, "m", "{}")
		if second := k.pending(s.ID, runtime.RequestApproval); len(second) != 1 || second[0].ID == first[0].ID {
			t.Errorf("pending %+v", second)
		}
	})
}

// A reply that the runtime would not accept is refused before anything is stored. A reason is stored with the
// decision. The runtime's options are stored with the request, and sent back with the answer.
func TestADecisionIsCheckedAndMayHaveAReason(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turnID := k.send(s.ID)
		k.fake.ask(s.ID, turnID, 0, runtime.RequestApproval, "m", `{"command":"ls"}`)
		request := k.pending(s.ID, runtime.RequestApproval)[0]
		if string(request.Decisions) != `["accept"]` || string(request.Questions) != `[{"id":"asked"}]` {
			t.Errorf("stored %+v", request)
		}
		asked := k.events(stream.EventRequest)[0]
		if ref := metaOf(t, asked).Request; string(ref.Decisions) != `["accept"]` ||
			string(ref.Questions) != `[{"id":"asked"}]` {
			t.Errorf("published %+v", ref)
		}
		if details := k.stored(s.ID)[0].Details; !strings.Contains(*details, `"id": "asked"`) {
			t.Errorf("the transcript has %s", *details)
		}

		var refused *runtime.ReplyError
		if _, err := k.Settle(t.Context(), request.ID, runtime.RequestApproval,
			runtime.Reply{Decision: "accept", Scope: "ever"}, "user"); !errors.As(err, &refused) {
			t.Errorf("what the runtime does not take: %v", err)
		}
		if len(k.pending(s.ID, runtime.RequestApproval)) != 1 || len(k.events("approval_resolved")) != 0 {
			t.Error("a refused reply settled the request")
		}
		reply := runtime.Reply{Decision: "decline", Choice: json.RawMessage(`{"a":1}`), Message: "not <now>"}
		_, err := k.Settle(t.Context(), request.ID, runtime.RequestApproval, reply, "user")
		k.do(err)
		want := `{"approvalId":"` + request.ID +
			`","status":"resolved","decision":"decline","scope":"turn","choice":{"a":1},"message":"not <now>","decidedBy":"user"}`
		if got := k.one("approval_resolved"); got != want {
			t.Errorf("published %s", got)
		}
		if event := k.events("approval_resolved")[0]; event.Actor != "user" || event.Time == 0 {
			t.Errorf("decided by %q at %d", event.Actor, event.Time)
		}
		if entry := k.stored(s.ID)[0]; entry.Content != "Approval resolved (decline): not <now>" {
			t.Errorf("the transcript says %q", entry.Content)
		}
		if settled, err := k.Request(t.Context(), request.ID, runtime.RequestApproval); err != nil ||
			settled.Reply.Message != "not <now>" ||
			string(settled.Reply.Choice) != `{"a":1}` {
			t.Errorf("kept %+v, %v", settled.Reply, err)
		}
		if ref := k.fake.refs[0]; string(ref.Params) != `{"command":"ls"}` || ref.ThreadID != s.ID || ref.TurnID != turnID {
			t.Errorf("answered %+v", ref)
		}
	})
}
