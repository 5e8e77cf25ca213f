package stream

import (
	"encoding/json"
	"testing"
)

// A client sees whether a question takes several answers or none; other questions have only the original's members.
func TestAQuestionSaysHowManyAnswersItTakes(t *testing.T) {
	t.Parallel()
	const plain = `{"id":"q1","header":"","question":"Which?","options":null,"isOther":false,"isSecret":false`
	for asked, want := range map[string]string{
		`{"id":"q1","question":"Which?"}`:                                  plain + "}",
		`{"id":"q1","multiple":true,"question":"Which?"}`:                  plain + `,"multiple":true}`,
		`{"optional":true,"id":"q1","question":"Which?","multiple":false}`: plain + `,"multiple":false,"optional":true}`,
	} {
		payload := RequestPayload(RequestRef{ID: "r", Kind: "tool_input"}, "item/tool/requestUserInput",
			json.RawMessage(`{"questions":[`+asked+`]}`))
		var shown struct{ Questions []json.RawMessage }
		if err := json.Unmarshal(payload, &shown); err != nil || len(shown.Questions) != 1 || string(shown.Questions[0]) != want {
			t.Errorf("%s is shown as %s, %v", asked, payload, err)
		}
	}
}
