package agents

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// guest is a client of a session of Claude Code that uses only features for clients of codex.
type guest struct {
	*programtest.Site
	*programtest.Server
	t       *testing.T
	session string
	events  *programtest.Follower
}

// says sends a message and returns its turn. more are additional members of the body.
func (g *guest) says(message string, more ...programtest.Object) string {
	g.t.Helper()
	body := programtest.Object{"text": message}
	for _, members := range more {
		for name, value := range members {
			body[name] = value
		}
	}
	return programtest.Text(g.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+g.session+"/messages", body), "turnId")
}

// decides answers the next approval, which must have a summary.
func (g *guest) decides(answer programtest.Object) (asked programtest.Object) {
	g.t.Helper()
	asked = g.events.WaitType("approval").Decoded()
	if programtest.Text(asked, "summary") == "" {
		g.t.Errorf("an approval without a summary: %v", asked)
	}
	g.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(asked, "approvalId")+"/decision", answer)
	return asked
}

func (g *guest) ends(turn, how string) {
	g.t.Helper()
	if status := g.events.WaitTurn(turn); status != how {
		g.t.Errorf("the turn ended %s, not %s", status, how)
	}
}

// receives waits for a notification that contains all words.
func (g *guest) receives(method string, words ...string) {
	g.t.Helper()
	g.events.Wait(fmt.Sprint(method, words), func(f programtest.Frame) bool {
		for _, word := range words {
			if !strings.Contains(f.Raw, word) {
				return false
			}
		}
		return f.Type == "notification" && programtest.Text(f.Decoded(), "method") == method
	})
}

// lastRequest returns the last request to the model.
func (g *guest) lastRequest() string {
	requests := g.Model.Requests()
	return string(requests[len(requests)-1].Body)
}

func (g *guest) made(name string) bool {
	_, err := os.Stat(filepath.Join(g.Workspace, name))
	return err == nil
}

// lastEntry returns the last entry of a type in the transcript.
func (g *guest) lastEntry(kind string) programtest.Object {
	g.t.Helper()
	found := g.Entries(g.session, kind)
	if len(found) == 0 {
		g.t.Fatalf("no %s in the transcript", kind)
	}
	return found[len(found)-1]
}

// A client written for codex can use all its features on a session of Claude Code, over REST and the stream. Features
// specific to Claude Code appear in frames that it knows. The test uses one server and one session, step by step.
func TestAClientOfClaudeCode(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	server := s.Start()
	g := &guest{Site: s, Server: server, session: server.ClaudeSession()}
	g.events = server.Follow("threadId=" + g.session)
	for _, step := range []struct {
		name string
		do   func(*guest)
	}{
		{"answers a question", (*guest).answersAQuestion}, {"approves a plan", (*guest).approvesAPlan},
		{"decides on commands", (*guest).decidesOnCommands}, {"shows a picture", (*guest).showsAPicture},
		{"steers", (*guest).steers}, {"interrupts what asks", (*guest).interruptsWhatAsks},
		{"follows a sub-agent", (*guest).followsASubAgent}, {"sees a turn without a message", (*guest).seesAnOwnTurn},
		{"sees retries", (*guest).seesRetries}, {"changes the model", (*guest).changesTheModel},
	} {
		t.Run(step.name, func(t *testing.T) {
			g.t, g.Server.T, g.events.T = t, t, t
			step.do(g)
		})
	}
	g.Server.T, g.events.T = t, t
}

func (g *guest) answersAQuestion() {
	turn := g.says("MOCK_ASK")
	asked := g.events.WaitType("tool_user_input_requested").Decoded()
	question := asked["questions"].([]any)[0]
	if programtest.Text(question, "question") != "Which one?" || !strings.Contains(fmt.Sprint(question), "description:second label:B") {
		g.t.Errorf("asked %v", asked)
	}
	g.Want(http.StatusOK, http.MethodPost, "/api/tool-input/"+programtest.Text(asked, "requestId")+"/decision",
		programtest.Object{"decision": "accept", "answers": programtest.Object{programtest.Text(question, "id"): programtest.Object{"answers": []string{"B"}}}})
	if resolved := g.events.WaitType("tool_user_input_resolved").Decoded(); programtest.Text(resolved, "status") != "resolved" {
		g.t.Errorf("resolved %v", resolved)
	}
	g.ends(turn, "completed")
	if said := programtest.Text(g.lastEntry("agentMessage"), "content"); !strings.Contains(said, `"B"`) {
		g.t.Errorf("the answer reached the model as %s", said)
	}
}

func (g *guest) approvesAPlan() {
	turn := g.says(`MOCK_CALL[EnterPlanMode|{}]END MOCK_CALL[ExitPlanMode|{"plan":"1. look\n2. leap"}]END`)
	if asked := g.decides(programtest.Object{"decision": "accept"}); !strings.Contains(programtest.Text(asked, "summary"), "1. look\n2. leap") {
		g.t.Errorf("asked %v", asked)
	}
	g.ends(turn, "completed")
	if plan := programtest.Text(g.lastEntry("plan"), "content"); !strings.Contains(plan, "2. leap") {
		g.t.Errorf("the transcript shows the plan %q", plan)
	}
}

func (g *guest) decidesOnCommands() {
	turn := g.says("MOCK_CMD[touch refused]")
	g.decides(programtest.Object{"decision": "decline", "message": "not before the freeze is over"})
	g.ends(turn, "completed")
	if g.made("refused") || !strings.Contains(g.lastRequest(), "not before the freeze is over") {
		g.t.Errorf("refused: it ran %t, and the model got %s", g.made("refused"), g.lastRequest())
	}
	turn = g.says("MOCK_CMD[touch worse]")
	g.decides(programtest.Object{"decision": "accept", "updatedInput": programtest.Object{"command": "touch better", "description": "other"}})
	g.ends(turn, "completed")
	if g.made("worse") || !g.made("better") {
		g.t.Error("not what was edited ran")
	}
	if shown := programtest.Text(g.lastEntry("commandExecution"), "content"); !strings.Contains(shown, "touch better") {
		g.t.Errorf("the transcript shows %s", shown)
	}
	turn = g.says("MOCK_CMD[echo x >> often] MOCK_CMD[echo x >> often]")
	g.decides(programtest.Object{"decision": "accept", "scope": "session"})
	g.ends(turn, "completed")
	if raw, err := os.ReadFile(filepath.Join(g.Workspace, "often")); err != nil || string(raw) != "x\nx\n" {
		g.t.Errorf("what is allowed for the session ran %q, %v", raw, err)
	}
}

func (g *guest) showsAPicture() {
	picture, _ := pictureURL(g.t)
	g.ends(g.says("MOCK_REPLY[seen]", programtest.Object{"images": []any{picture}}), "completed")
	_, data, _ := strings.Cut(picture, ",")
	if !strings.Contains(g.lastRequest(), data) {
		g.t.Error("the picture did not reach the model")
	}
}

// steers sends a message into a waiting turn, which then includes the message.
func (g *guest) steers() {
	turn := g.says("MOCK_CMD[touch steered]")
	asked := g.events.WaitType("approval").Decoded()
	if joined := g.says("MOCK_REPLY[got you]"); joined != turn {
		g.t.Errorf("the second message is of turn %s, the first one's is %s", joined, turn)
	}
	g.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(asked, "approvalId")+"/decision",
		programtest.Object{"decision": "accept"})
	g.ends(turn, "completed")
	if last := g.lastEntry("userMessage"); programtest.Text(last, "content") != "MOCK_REPLY[got you]" || last["turnId"] != turn {
		g.t.Errorf("the transcript has %v", last)
	}
	if said := g.lastEntry("agentMessage"); said["turnId"] != turn || !strings.Contains(g.lastRequest(), "got you") {
		g.t.Errorf("it answered %v; the model got %s", said, g.lastRequest())
	}
}

func (g *guest) interruptsWhatAsks() {
	turn := g.says("MOCK_CMD[touch cut]")
	asked := g.events.WaitType("approval").Decoded()
	g.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+g.session+"/interrupt", programtest.Object{})
	resolved := g.events.WaitType("approval_resolved").Decoded()
	if resolved["approvalId"] != asked["approvalId"] || programtest.Text(resolved, "status") == "approved" {
		g.t.Errorf("resolved %v", resolved)
	}
	g.ends(turn, "interrupted")
	if open := g.Approvals(g.session); len(open) != 0 || g.made("cut") {
		g.t.Errorf("open are %v, it ran: %t", open, g.made("cut"))
	}
	g.ends(g.says("MOCK_REPLY[on we go]"), "completed")
}

// followsASubAgent: one item represents the sub-agent, the same client gets its requests, and its usage counts. Its
// own messages are stored unchanged.
func (g *guest) followsASubAgent() {
	turn := g.says(`MOCK_CALL[Agent|{"description":"d","prompt":"MOCK_CMD[touch below]","subagent_type":` +
		`"general-purpose","run_in_background":false}]END`)
	g.decides(programtest.Object{"decision": "accept"})
	used := g.events.WaitType("thread_token_usage_updated").Decoded()
	g.ends(turn, "completed")
	var shown []string
	for _, one := range g.Transcript(g.session) {
		if one["turnId"] == turn && one["role"] != "user" {
			shown = append(shown, programtest.Text(one, "type"))
		}
	}
	if got := strings.Join(shown, " "); got != "mcpToolCall approval.resolved agentMessage" || !g.made("below") {
		g.t.Errorf("the transcript shows %s; it ran: %t", got, g.made("below"))
	}
	// Two requests by the agent and two by the sub-agent, each of 100 tokens: 20 to the cache and 30 from it.
	if last := fmt.Sprint(used["tokenUsage"].(programtest.Object)["last"]); !strings.Contains(last, "cachedInputTokens:120") ||
		!strings.Contains(last, "inputTokens:600") {
		g.t.Errorf("it used %s", last)
	}
	lines, err := os.ReadFile(filepath.Join(g.DataDir, "native", g.session+".lines"))
	if err != nil || !strings.Contains(string(lines), `"parent_tool_use_id":"toolu`) {
		g.t.Errorf("the sub-agent's own lines are not kept: %v", err)
	}
}

func (g *guest) seesAnOwnTurn() {
	turn := g.says(`MOCK_CALL[Agent|{"description":"d","prompt":"MOCK_HOLD[behind]","subagent_type":` +
		`"general-purpose","run_in_background":true}]END`)
	if err := g.Model.WaitHeld(g.t.Context(), "behind"); err != nil {
		g.t.Fatal(err)
	}
	g.ends(turn, "completed")
	g.Model.Release("behind")
	begun := g.events.Wait("a turn without a message", func(f programtest.Frame) bool {
		return f.Type == "notification" && programtest.Text(f.Decoded(), "method") == "turn/started"
	})
	own := programtest.Text(begun.Decoded(), "params", "turn", "id")
	if own == turn {
		g.t.Error("it has the id of the turn before it")
	}
	g.ends(own, "completed")
	if said := g.lastEntry("agentMessage"); said["turnId"] != own {
		g.t.Errorf("the last answer is %v", said)
	}
}

func (g *guest) seesRetries() {
	turn := g.says("MOCK_HTTP_500")
	for n := 1; n <= 2; n++ {
		g.receives("error", `"willRetry":true`, fmt.Sprintf("attempt %d of 2", n))
	}
	g.ends(turn, "failed")
	g.ends(g.says("MOCK_REPLY[again]"), "completed")
}

func (g *guest) changesTheModel() {
	offered := fmt.Sprint(g.Want(http.StatusOK, http.MethodGet, "/api/models?runtime=claude", nil)["data"])
	if !strings.Contains(offered, "haiku") {
		g.t.Errorf("the models are %s", offered)
	}
	g.ends(g.says("MOCK_REPLY[other]", programtest.Object{"model": "claude-sonnet-4-5"}), "completed")
	if request := g.lastRequest(); !strings.Contains(request, `"model":"claude-sonnet-4-5"`) || !strings.Contains(request, "MOCK_REPLY[again]") {
		g.t.Errorf("the model was asked %.300s", request)
	}
}
