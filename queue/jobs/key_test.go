package jobs

import (
	"encoding/json"
	"testing"
)

// An intent without a key gets the same derived key for every spelling of the same action. The key equals the one that
// earlier versions stored.
func TestDerivedKeys(t *testing.T) {
	t.Parallel()
	key := func(payload string) string {
		return deriveKey(Intent{Agent: "supervisor", SourceSessionID: "s", TurnID: "t", ActionType: "transcript.upsert",
			Payload: json.RawMessage(payload)})
	}
	const stored = "auto:8e0d2cf132397c36971747fcd216183260aa9feadec3425c2490a26e05cae638"
	if got := key(`{"sessionId":"s","entry":{"messageId":"m","content":"é <b> \n","at":1700000000000,` +
		`"deep":[true,null,-2.5]}}`); got != stored {
		t.Errorf("key %s, stored was %s", got, stored)
	}
	if key(`{"a":1,"b":"é"}`) != key(`{ "b" : "\u00e9", "a" : 1.0 }`) {
		t.Error("two spellings of one action have two keys")
	}
	if key(`{"a":1}`) == key(`{"a":2}`) || key(`{"a":1e999}`) == key(`{"a":1e998}`) {
		t.Error("two actions have one key")
	}
}
