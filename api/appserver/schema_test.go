package appserver_test

import (
	"encoding/json"
	"testing"

	"harness/tests/codexschema"
)

// FE-25: what this door sends is valid for every version of codex whose TUI is supported.
func TestFramesMatchTheSchemas(t *testing.T) {
	t.Parallel()
	c := setup(t, nil).dial("alice")
	session := c.start()
	c.say(session, "REPLY[hello]", "m-1")
	c.until("turn/completed", "")
	c.say(session, "RUN[echo done]", "m-2")
	asked := c.until("item/commandExecution/requestApproval", "")
	c.send(`{"id":` + string(asked.ID) + `,"result":{"decision":"accept"}}`)
	c.until("turn/completed", "")
	c.say(session, "ASK", "m-3")
	asked = c.until("item/tool/requestUserInput", "")
	c.send(`{"id":` + string(asked.ID) + `,"result":{"answers":{"q1":{"answers":["A"]}}}}`)
	c.until("turn/completed", "")
	c.call("thread/compact/start", `{"threadId":"`+session+`"}`)
	c.until("turn/completed", "")
	c.call("thread/settings/update", `{"threadId":"`+session+`","model":"thorough"}`)
	c.until("thread/settings/updated", "")
	c.call("thread/name/set", `{"threadId":"`+session+`","name":"my work"}`)
	c.until("thread/name/updated", "")
	var page struct {
		Data []struct{ Item json.RawMessage }
	}
	decode(t, c.call("thread/items/list", `{"threadId":"`+session+`","limit":100,"sortDirection":"desc"}`), &page)
	for _, version := range codexschema.Versions() {
		checker := codexschema.Of(t, version)
		for _, raw := range c.raw {
			if err := checker.Frame(raw); err != nil {
				t.Errorf("%s: %.300s: %v", version, raw, err)
			}
		}
		for _, one := range page.Data {
			if err := checker.Item(one.Item); err != nil {
				t.Errorf("%s: %.300s: %v", version, one.Item, err)
			}
		}
	}
	if len(c.raw) < 20 || len(page.Data) < 6 {
		t.Errorf("only %d frames and %d items were checked", len(c.raw), len(page.Data))
	}
}
