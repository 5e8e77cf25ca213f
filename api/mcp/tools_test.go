package mcp_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/api/mcp"
	"harness/internal/platform/auth"
)

var (
	viewerTools = []string{"list_approvals", "list_runtimes", "list_sessions", "read_transcript", "receipts", "search", "wait"}
	personTools = append(slices.Clone(viewerTools), "archive", "decide", "interrupt", "rename", "send_message", "start_session")
)

// MC-20: a caller sees the tools that it may call, and no others exist for it.
func TestTheToolsDependOnTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slices.Sort(personTools)
	for role, want := range map[auth.Role][]string{
		auth.RoleMember: viewerTools, auth.RoleOperator: personTools, auth.RoleAdmin: personTools, auth.RoleOwner: personTools,
		auth.RoleCI: nil,
	} {
		got := b.as("a", role).names()
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has %v", role, got)
		}
	}
	id := b.NewSession()
	if _, code := b.as("a", auth.RoleMember).try("rename", object{"session": id, "title": "x"}); !strings.Contains(code, "unknown tool") {
		t.Errorf("a viewer renames: %s", code)
	}
}

// MC-21: a session is started, read, renamed, stopped and archived; what changes something is in the audit log.
func TestAPersonControlsSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := b.as("ann", auth.RoleOperator)
	made := ann.call("start_session", object{"key": "one", "message": "REPLY[done]", "title": "mine"})
	id, turn := text(made["session"]), text(made["turn"])
	b.Ended(id, turn)
	read := ann.call("read_transcript", object{"session": id})
	entries := list(read, "entries")
	if last := entries[len(entries)-1]; last["text"] != "done" || last["turn"] != turn || read["untrusted"] != true {
		t.Errorf("the transcript is %v", read)
	}
	first := list(ann.call("read_transcript", object{"session": id, "after": entries[0]["id"], "limit": 1}), "entries")
	if len(first) != 1 || first[0]["id"] != entries[1]["id"] {
		t.Errorf("behind the first entry is %v", first)
	}
	if kinds := list(ann.call("read_transcript", object{"session": id, "kinds": []string{"none"}}), "entries"); len(kinds) != 0 {
		t.Errorf("entries of no kind: %v", kinds)
	}
	ann.call("rename", object{"session": id, "title": "other"})
	if all := list(ann.call("list_sessions", object{"query": "other"}), "sessions"); len(all) != 1 || all[0]["id"] != id || all[0]["state"] != "idle" {
		t.Errorf("the sessions are %v", all)
	}
	if hits := list(ann.call("search", object{"query": "done", "session": id}), "hits"); len(hits) != 1 || hits[0]["excerpt"] != "done" {
		t.Errorf("the hits are %v", hits)
	}
	if all := list(ann.call("list_runtimes", nil), "runtimes"); len(all) != 1 || all[0]["default"] != true {
		t.Errorf("the runtimes are %v", all)
	}
	held := text(ann.call("send_message", object{"key": "two", "session": id, "text": "HOLD[a]"})["turn"])
	if stopped := ann.call("interrupt", object{"session": id}); stopped["turn"] != held {
		t.Errorf("stopped %v, not %s", stopped, held)
	}
	b.Ended(id, held)
	ann.call("archive", object{"session": id})
	for _, tool := range []string{"start_session", "rename", "send_message", "interrupt", "archive"} {
		rows := b.recorded(tool)
		if len(rows) != 1 || rows[0].Actor != "ann" || rows[0].SessionID != id || rows[0].Outcome != "ok" || rows[0].Protocol != "mcp-control" {
			t.Errorf("the log of %s is %+v", tool, rows)
		}
	}
	if _, code := ann.try("archive", object{"session": "unknown"}); code != "session_not_found" || b.recorded("archive")[1].Outcome != "refused" {
		t.Errorf("an unknown session: %s", code)
	}
	if rows := b.recorded("read_transcript"); len(rows) > 0 || len(b.recorded("POST "+mcp.Path)) > 0 {
		t.Errorf("reads are in the log: %v", rows)
	}
}

// MC-22: a call that is repeated with its key has the same answer and makes nothing twice; with another content it is refused.
func TestAKeyMakesOneThing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann, ben := b.as("ann", auth.RoleOperator), b.as("ben", auth.RoleOperator)
	first := ann.call("start_session", object{"key": "k", "message": "REPLY[a]"})
	if again := ann.call("start_session", object{"key": "k", "message": "REPLY[a]"}); again["session"] != first["session"] || again["turn"] != first["turn"] {
		t.Errorf("%v, then %v", first, again)
	}
	if _, code := ann.try("start_session", object{"key": "k", "message": "REPLY[b]"}); code != "key_reused" {
		t.Errorf("another content: %s", code)
	}
	if other := ben.call("start_session", object{"key": "k", "message": "REPLY[a]"}); other["session"] == first["session"] {
		t.Error("another caller's key is the same")
	}
	if _, code := ann.try("start_session", object{"message": "REPLY[a]"}); !strings.Contains(code, "key") {
		t.Errorf("without a key: %s", code)
	}
	id := text(first["session"])
	b.Ended(id, text(first["turn"]))
	message := object{"key": "m", "session": id, "text": "HOLD[x]"}
	sent := ann.call("send_message", message)
	behind := object{"key": "q", "session": id, "text": "REPLY[then]", "when": "after_turn"}
	queued := ann.call("send_message", behind)
	if sent["state"] != "delivered" || queued["state"] != "queued" {
		t.Errorf("sent %v, queued %v", sent, queued)
	}
	for range 3 {
		if again := ann.call("send_message", message); again["turn"] != sent["turn"] {
			t.Errorf("%v, then %v", sent, again)
		}
		if again := ann.call("send_message", behind); again["message"] != queued["message"] {
			t.Errorf("%v, then %v", queued, again)
		}
	}
	if queue, err := b.Queued(t.Context(), id); err != nil || len(queue) != 1 {
		t.Errorf("the queue is %v, %v", queue, err)
	}
}

// MC-23: of the people who decide one wins, and the others learn how the request was settled.
func TestAPersonDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := b.as("ann", auth.RoleOperator)
	id := b.NewSession()
	turn := b.Say(id, "RUN[true]")
	asked := b.Asked(id)
	open := list(ann.call("list_approvals", object{"session": id}), "requests")
	if len(open) != 1 || open[0]["id"] != asked.ID || open[0]["session"] != id || open[0]["kind"] != "approval" {
		t.Errorf("the requests are %v", open)
	}
	if got := ann.call("wait", object{"sessions": []string{id}, "until": "needs_person"}); got["reason"] != "needs_person" || got["session"] != id {
		t.Errorf("needs a person: %v", got)
	}
	const many = 16
	won := make(chan bool, many)
	for range many {
		c := b.as("ben", auth.RoleOperator)
		go func() {
			answer, code := c.try("decide", object{"request": asked.ID, "decision": "accept"})
			if code != "" || answer["decided_by"] != "ben" || answer["decision"] != "accept" {
				t.Errorf("decided: %v %s", answer, code)
			}
			won <- answer["by_this_call"] == true
		}()
	}
	wins := 0
	for range many {
		if <-won {
			wins++
		}
	}
	if b.Ended(id, turn); wins != 1 {
		t.Errorf("%d won", wins)
	}
	if _, code := ann.try("decide", object{"request": "unknown", "decision": "accept"}); code != "request_not_found" {
		t.Errorf("an unknown request: %s", code)
	}
}

// MC-24: wait ends with what it waits for, also if that happened before it; without it, with a position to go on from.
func TestWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ann := b.as("ann", auth.RoleMember)
	one, other := b.NewSession(), b.NewSession()
	both := []string{other, one}
	if got := ann.call("wait", object{"sessions": both, "until": "idle"}); got["reason"] != "idle" {
		t.Errorf("idle sessions: %v", got)
	}
	turn := b.Say(one, "HOLD[a]")
	late := ann.call("wait", object{"sessions": []string{one}, "until": "idle", "timeout_s": 1})
	if late["reason"] != "timeout" || late["pos"] == 0.0 {
		t.Errorf("a running session: %v", late)
	}
	if err := os.WriteFile(b.Path("free-a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ann.call("wait", object{"sessions": []string{one}, "until": "idle"}); got["reason"] != "idle" || got["session"] != one {
		t.Errorf("the end of the turn: %v", got)
	}
	// The change was before the call and behind its position.
	got := ann.call("wait", object{"sessions": both, "until": "change", "after": late["pos"]})
	events := list(got, "events")
	if got["reason"] != "change" || got["session"] != one || len(events) == 0 || events[len(events)-1]["turn"] != turn {
		t.Errorf("the change: %v", got)
	}
	if got := ann.call("wait", object{"sessions": both, "until": "change", "after": got["pos"], "timeout_s": 1}); got["reason"] != "timeout" {
		t.Errorf("nothing changed: %v", got)
	}
	if _, code := ann.try("wait", object{"sessions": []string{"unknown"}, "until": "idle"}); code != "session_not_found" {
		t.Errorf("an unknown session: %s", code)
	}
}

// MC-25: a caller has four calls of wait at once, and a client with a progress token gets reports.
func TestWaitIsLimitedAndReports(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *mcp.Options) { o.Progress = 10 * time.Millisecond })
	reports := make(chan struct{}, 1000)
	c := b.dial(http.Header{"Actor": {"ann"}, "Role": {string(auth.RoleMember)}}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			if r.Params.ProgressToken == "tok" {
				select {
				case reports <- struct{}{}:
				default:
				}
			}
		}})
	id := b.NewSession()
	in := object{"sessions": []string{id}, "until": "change", "timeout_s": 300}
	var open sync.WaitGroup
	for range 4 {
		open.Go(func() {
			params := &sdk.CallToolParams{Name: "wait", Arguments: in}
			params.SetProgressToken("tok")
			if got, err := c.session.CallTool(t.Context(), params); err != nil || got.IsError {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for range 40 { // each of the four has begun by then: they report in turn
		select {
		case <-reports:
		case <-time.After(20 * time.Second):
			t.Fatal("no reports")
		}
	}
	refused := 0
	for range 60 {
		if answer, code := c.try("wait", in); code == "limit_reached" && answer["error"].(object)["retry_after_ms"] == 1000.0 { //nolint:forcetypeassert // it is one
			refused++
		}
	}
	if refused != 60 {
		t.Errorf("%d of 60 were refused", refused)
	}
	if got := b.as("ben", auth.RoleMember).call("wait", object{"sessions": []string{id}, "until": "idle"}); got["reason"] != "idle" {
		t.Errorf("another caller: %v", got)
	}
	b.Say(id, "REPLY[x]")
	open.Wait()
}

// MC-26: a text above 8,000 characters is cut, and goes on from next_offset.
func TestALongTextIsCut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.NewSession()
	long := strings.Repeat("ä", 9000)
	b.Ended(id, b.Say(id, "REPLY["+long+"]"))
	c := b.as("ann", auth.RoleMember)
	entries := list(c.call("read_transcript", object{"session": id}), "entries")
	last := entries[len(entries)-1]
	if got := []rune(text(last["text"])); len(got) != 8000 || last["truncated"] != true {
		t.Errorf("%d characters, %v", len(got), last["truncated"])
	}
	rest := c.call("read_transcript", object{"session": id, "entry": last["id"], "offset": last["next_offset"]})
	if text(last["text"])+text(rest["text"]) != long || rest["next_offset"] != nil || rest["untrusted"] != true {
		t.Errorf("the rest is %d bytes, %v", len(text(rest["text"])), rest["next_offset"])
	}
	for _, in := range []object{{"session": id, "entry": "none"}, {"session": "none", "entry": last["id"]}} {
		if answer, code := c.try("read_transcript", in); code != "entry_not_found" && code != "session_not_found" {
			t.Errorf("the text of %v is %v %s", in, answer, code)
		}
	}
}

// MC-27: a caller with projects reaches their sessions alone; others are as if they did not exist.
func TestProjectsLimitTheControl(t *testing.T) {
	t.Parallel()
	b := setup(t)
	project, err := b.CreateProject(t.Context(), "p", nil)
	if err != nil {
		t.Fatal(err)
	}
	outside := b.NewSession()
	c := b.dial(http.Header{"Actor": {"ann"}, "Role": {string(auth.RoleOperator)}, "Project": {project.ID}}, nil)
	inside := text(c.call("start_session", object{"key": "k"})["session"])
	if all := list(c.call("list_sessions", nil), "sessions"); len(all) != 1 || all[0]["id"] != inside {
		t.Errorf("the sessions are %v", all)
	}
	turn := b.Say(outside, "RUN[true]")
	asked := b.Asked(outside)
	if open := list(c.call("list_approvals", nil), "requests"); len(open) != 0 {
		t.Errorf("the requests are %v", open)
	}
	for tool, in := range map[string]object{
		"read_transcript": {"session": outside}, "search": {"session": outside, "query": "x"}, "interrupt": {"session": outside},
		"wait": {"sessions": []string{inside, outside}, "until": "needs_person"}, "archive": {"session": outside},
		"rename": {"session": outside, "title": "x"}, "send_message": {"session": outside, "text": "x", "key": "m"},
	} {
		if _, code := c.try(tool, in); code != "session_not_found" {
			t.Errorf("%s of another project: %s", tool, code)
		}
	}
	if _, code := c.try("decide", object{"request": asked.ID, "decision": "accept"}); code != "request_not_found" {
		t.Errorf("a decision in another project: %s", code)
	}
	b.as("ben", auth.RoleOperator).call("decide", object{"request": asked.ID, "decision": "accept"})
	b.Ended(outside, turn)
}
