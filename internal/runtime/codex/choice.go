package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"harness/internal/runtime"
)

// chosen returns the answer to an approval with one of codex's offered decisions: some of them amend a policy, which
// no plain decision does. It must match the plain decision, which other clients see.
func chosen(offered json.RawMessage, reply runtime.Reply) (json.RawMessage, error) {
	refused := func(format string, args ...any) (json.RawMessage, error) {
		return nil, &runtime.ReplyError{Field: "choice", Message: fmt.Sprintf(format, args...)}
	}
	var choices []json.RawMessage
	_ = json.Unmarshal(offered, &choices) // invalid JSON has none
	if !slices.ContainsFunc(choices, func(c json.RawMessage) bool { return sameJSON(c, reply.Choice) }) {
		if len(choices) == 0 {
			return refused("this request offers no decisions to choose from")
		}
		return refused("it has to be one of %s", offered)
	}
	if means := meaning(reply.Choice); means != reply.Decision {
		return refused("with this choice the decision is %q, not %q", means, reply.Decision)
	}
	return encode(map[string]json.RawMessage{"decision": reply.Choice})
}

// meaning returns the plain decision that corresponds to an offered one.
func meaning(choice json.RawMessage) string {
	var word string
	if json.Unmarshal(choice, &word) == nil {
		if word == "acceptForSession" {
			return actionAccept
		}
		return word
	}
	var amendment struct {
		Network struct {
			Policy struct {
				Action string `json:"action"`
			} `json:"network_policy_amendment"`
		} `json:"applyNetworkPolicyAmendment"`
	}
	if json.Unmarshal(choice, &amendment) == nil && amendment.Network.Policy.Action == "deny" {
		return actionDecline
	}
	return actionAccept
}

// sameJSON compares two values regardless of the order of members.
func sameJSON(a, b json.RawMessage) bool {
	sorted := func(raw json.RawMessage) []byte {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			return nil
		}
		out, _ := json.Marshal(value) // decoded values always encode
		return out
	}
	x, y := sorted(a), sorted(b)
	return x != nil && bytes.Equal(x, y)
}
