package extensions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/action"
	"harness/extensions/sdk"
	"harness/internal/runtime"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

func TestMain(m *testing.M) { scripted.Main(m) }

// sessions adapts a site's sessions for extensions and their actions.
type sessions struct{ *sessiontest.Site }

func (s sessions) Describe(ctx context.Context, id string) (extensions.SessionInfo, error) {
	found, err := s.Lookup(ctx, id)
	return extensions.SessionInfo{ID: found.ID, Title: found.Title}, err
}

func (s sessions) RequestPending(ctx context.Context, _, id string) (bool, error) {
	request, err := s.Request(ctx, id, runtime.RequestApproval)
	return err == nil && request.Reply == nil, err
}

func (s sessions) Approval(ctx context.Context, id string) (action.Approval, error) {
	request, err := s.Request(ctx, id, runtime.RequestApproval)
	return action.Approval{SessionID: request.SessionID, TurnID: request.TurnID}, err
}

func (s sessions) Decide(ctx context.Context, d action.Decision) error {
	_, err := s.Settle(ctx, d.ApprovalID, runtime.RequestApproval,
		runtime.Reply{Decision: d.Decision, Scope: d.Scope, Message: d.Message}, d.Actor)
	return err
}

// An extension receives the events of an agent other than codex, and decides its requests.
func TestAnExtensionDecidesForTheScriptedAgent(t *testing.T) {
	const asks = "app_server.request.item.command_execution.request_approval"
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		received := make(chan string, 64)
		decider := sdk.Extension{ModuleName: "decider", Register: func(on *sdk.Registry) {
			on.On(asks, func(_ context.Context, event sdk.Event, _ sdk.Tools) (any, error) {
				var asked struct{ RequestID, Runtime string }
				if err := json.Unmarshal(event.Payload, &asked); err != nil {
					return nil, err
				}
				received <- fmt.Sprint("asked by ", asked.Runtime)
				return sdk.NewAction(sdk.ActionApprovalDecide,
					map[string]string{"approvalId": asked.RequestID, "decision": "decline", "message": "not today"}), nil
			})
			on.On("app_server.turn.completed", func(context.Context, sdk.Event, sdk.Tools) (any, error) {
				received <- "over"
				return nil, nil
			})
		}}
		own := sessions{s}
		actions := action.New(action.Options{Journal: s.Journal, DB: s.DB, Approvals: own, Logger: zerolog.Nop()})
		r := registry(t, extensions.Options{Native: []sdk.Extension{decider}, Actions: actions})
		for _, problem := range r.Load(t.Context()) {
			t.Fatal(problem)
		}
		s.Start(extensions.NewDispatcher(extensions.DispatcherOptions{Registry: r, Journal: s.Journal, DB: s.DB,
			Sessions: own, NodeID: "node", Logger: zerolog.Nop()}))
		id, file := s.NewSession(), s.Path("undecided")
		turn := s.Say(id, "RUN[touch "+file+"]")
		if state := s.Ended(id, turn); state.Status != runtime.TurnDone {
			t.Errorf("the turn ended %+v", state)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the command ran although the extension declined it")
		}
		entries, err := s.TurnEntries(t.Context(), id, turn)
		if err != nil || entries[len(entries)-1].Content != "then not: not today" {
			t.Errorf("the agent's transcript is %+v (%v)", entries, err)
		}
		for _, want := range []string{"asked by " + scripted.Name, "over"} {
			if got := <-received; got != want {
				t.Errorf("the extension received %q, not %q", got, want)
			}
		}
	})
}
