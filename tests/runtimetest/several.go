package runtimetest

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// asksSeveral: a user gives several answers to one question. The agent gets each unchanged, with any characters.
func asksSeveral(t *testing.T, s *scene) {
	if s.Script.AskSeveral == "" || !s.Capabilities().ToolInput {
		t.Log("its model cannot ask for several answers")
		return
	}
	turn := s.say(s.open(), s.Script.AskSeveral)
	asked := s.Asked(t, turn, runtime.RequestToolInput)
	s.answer(asked, ChooseSeveral(t, asked, "a, b", `"c"`))
	if end := s.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	for _, answer := range []string{"a, b", `"c"`} {
		if said := s.said(turn); !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), answer) {
			t.Errorf("the model knows nothing of the answer %s: %q", answer, said)
		}
	}
}

// ChooseSeveral answers the first question of a request, which must accept several answers.
func ChooseSeveral(t *testing.T, asked runtime.Signal, answers ...string) runtime.Reply {
	t.Helper()
	var given struct {
		Questions []struct {
			ID       string
			Multiple bool
		}
	}
	if err := json.Unmarshal(asked.Params, &given); err != nil || len(given.Questions) == 0 {
		t.Fatalf("it asks %s, %v", asked.Params, err)
	}
	if !given.Questions[0].Multiple {
		t.Errorf("the question takes one answer: %s", asked.Params)
	}
	reply, err := json.Marshal(map[string]any{given.Questions[0].ID: map[string]any{"answers": answers}})
	if err != nil {
		t.Fatal(err)
	}
	return runtime.Reply{Decision: "accept", Answers: reply}
}
