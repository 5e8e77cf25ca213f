package stream_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/internal/runtime"
	"harness/stream"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

// scriptedTexts returns a client's frames of one session up to a final one: the type of each, with its method and text.
func scriptedTexts(t *testing.T, url, query, last string) (shown []string, raw []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+"?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("before %s: %v; shown %q", last, err, shown)
		}
		var frame struct {
			Type    string
			Payload struct {
				Method, Source, Runtime string
				Params                  struct{ Delta string }
			}
		}
		if err := json.Unmarshal(data, &frame); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(frame.Type, "app_server.") && frame.Payload.Runtime != scripted.Name {
			t.Errorf("a frame is of runtime %q: %s", frame.Payload.Runtime, data)
		}
		shown, raw = append(shown, strings.TrimSpace(frame.Type+" "+frame.Payload.Params.Delta)), append(raw, string(data))
		if frame.Type == last {
			return shown, raw
		}
	}
}

// Messages of an agent other than codex arrive as the frames that clients know, live and on replay.
func TestFramesOfTheScriptedAgent(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		hub := stream.NewHub(s.Journal, stream.Options{})
		s.Start(hub)
		server := httptest.NewServer(stream.NewHandler(hub, stream.HandlerOptions{}))
		defer server.Close()
		id := s.NewSession()
		turn := s.Say(id, "RUN[true]")
		asked := s.Asked(id)
		if _, err := s.Settle(t.Context(), asked.ID, runtime.RequestApproval,
			runtime.Reply{Decision: "accept", Scope: "turn"}, "user"); err != nil {
			t.Fatal(err)
		}
		s.Ended(id, turn)
		shown, raw := scriptedTexts(t, server.URL, "after=0&threadId="+id, "app_server.turn.completed")
		for _, want := range []string{"app_server.turn.started", "app_server.item.started",
			"app_server.request.item.command_execution.request_approval",
			"approval", "approval_resolved", "app_server.item.agent_message.delta it ran", "app_server.item.completed"} {
			if !slices.Contains(shown, want) {
				t.Errorf("no frame %s in %q", want, shown)
			}
		}
		if _, again := scriptedTexts(t, server.URL, "after=0&threadId="+id, "app_server.turn.completed"); !slices.Equal(raw[1:],
			again[1:]) {
			t.Error("a second replay says something else")
		}
	})
}
