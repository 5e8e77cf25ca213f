package manager

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session/store"
)

// A long message and a long request are stored in parts. A reader gets them byte for byte, and the runtime gets its
// own parameters back with the answer. No parts remain after a deletion, or after a shorter version replaces them.
func TestLongMessagesAndRequestsAreStoredInParts(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		long := strings.Repeat("😀 said\\n", database.PartBytes/8)
		native := func(text string) json.RawMessage {
			return json.RawMessage(`{"type":"agentMessage","id":"m","text":"` + text + `"}`)
		}
		say := func(raw json.RawMessage) {
			k.fake.item(s.ID, turn, runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage", Native: raw,
				LongContent: []json.RawMessage{json.RawMessage(`"I "`), json.RawMessage(`"` + long + `"`)}}, true)
			k.flush()
		}
		parts := func(table string) int { return k.number(`select count(*) from ` + table) }
		for range 2 { // reported twice
			say(native(long))
			messages, err := store.ReadMessages(t.Context(), k.db.Read(), s.ID, []string{"m"})
			k.do(err)
			if string(messages["m"]) != string(native(long)) || parts("message_parts") < 2 {
				t.Fatalf("the message has %d bytes of %d, in %d parts", len(messages["m"]), len(native(long)),
					parts("message_parts"))
			}
		}
		var content string
		for _, entry := range k.stored(s.ID) {
			if entry.MessageID == "m" {
				content = entry.Content
			}
		}
		if want := "I " + strings.ReplaceAll(long, `\n`, "\n"); content != want {
			t.Errorf("the entry says %d bytes of %d", len(content), len(want))
		}

		params := `{"threadId":"` + s.ID + `","command":"` + long + `","cwd":"/"}`
		k.fake.ask(s.ID, turn, 7, runtime.RequestApproval, "item/commandExecution/requestApproval", params)
		k.flush()
		asked := k.pending(s.ID, runtime.RequestApproval)
		if len(asked) != 1 || string(asked[0].Params) != params || parts("request_parts") < 2 {
			t.Fatalf("%d requests, in %d parts", len(asked), parts("request_parts"))
		}
		one, err := k.Request(t.Context(), asked[0].ID, runtime.RequestApproval)
		k.do(err)
		if string(one.Params) != params {
			t.Error("it is another one when it is read alone")
		}
		for _, entry := range k.stored(s.ID) {
			if strings.HasPrefix(entry.MessageID, "approval-") &&
				(entry.Details == nil || !strings.Contains(*entry.Details, `"command": "`+long+`"`)) {
				t.Error("its entry does not say what it asks")
			}
		}
		_, err = k.Settle(t.Context(), asked[0].ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "user")
		k.do(err)
		k.fake.mu.Lock()
		if answered := k.fake.refs[len(k.fake.refs)-1]; string(answered.Params) != params {
			t.Errorf("the runtime gets %d bytes of its parameters", len(answered.Params))
		}
		k.fake.mu.Unlock()

		say(native("short"))
		messages, err := store.ReadMessages(t.Context(), k.db.Read(), s.ID, []string{"m"})
		k.do(err)
		if string(messages["m"]) != string(native("short")) {
			t.Errorf("it says %.100s", messages["m"])
		}
		say(native(long))
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		for _, table := range []string{"message_parts", "request_parts", "transcript_parts"} {
			if left := parts(table); left != 0 {
				t.Errorf("%d rows are left in %s", left, table)
			}
		}
	})
}
