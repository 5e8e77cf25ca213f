package acp

import (
	"fmt"
	"strings"
	"testing"
)

func TestAgentsOfAConfiguration(t *testing.T) {
	t.Parallel()
	profiles, err := Configured(
		`{"goose":"goose acp","own":{"command":["/opt/my agent","x"],"env":{"B":"2","A":"1"},"modes":{"untrusted":"ask"},"families":["gemini"]}}`)
	if err != nil || len(profiles) != 2 {
		t.Fatalf("%v, %v", profiles, err)
	}
	goose, own := profiles[0], profiles[1]
	if goose.Name != "acp:goose" || fmt.Sprint(goose.Command) != "[goose acp]" ||
		fmt.Sprint(goose.policies()) != "[on-request]" || !goose.Preview {
		t.Errorf("goose is %+v", goose)
	}
	if own.Command[0] != "/opt/my agent" || fmt.Sprint(own.Env) != "[A=1 B=2]" ||
		fmt.Sprint(own.policies()) != "[untrusted]" || own.Families[0] != "gemini" {
		t.Errorf("own is %+v", own)
	}
	if profiles, err := Configured(" "); profiles != nil || err != nil {
		t.Errorf("nothing is %v, %v", profiles, err)
	}
	for text, want := range map[string]string{
		`goose acp`: "COMMAND LINE", `["goose"]`: "COMMAND LINE", `{"a":5}`: "COMMAND LINE", `{"A b":"x"}`: "not a valid agent name",
		`{"a":""}`: "no command line", `{"a":{"command":[]}}`: "no command line", `{"a":{"comand":["x"]}}`: "comand",
		`{"a":{"command":["x"],"modes":{"always":"m"}}}`: "modes", `{"a":{"command":["x"],"modes":{"never":""}}}`: "modes",
	} {
		if _, err := Configured(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
