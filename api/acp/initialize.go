package acp

import (
	"context"
	"encoding/json"

	"harness/api/door"
)

// client is what a client says of itself.
type client struct {
	// forms reports whether it shows forms.
	forms bool
}

// initialize is the first request of a socket. This server has version 1 only.
func initialize(ctx context.Context, c *call) (any, error) {
	var in struct {
		Version      *int `json:"protocolVersion"`
		Capabilities struct {
			Elicitation struct {
				Form json.RawMessage `json:"form"`
			} `json:"elicitation"`
		} `json:"clientCapabilities"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.Version == nil {
		return nil, door.Invalid("protocolVersion is required")
	}
	found, err := c.ops().Runtime(ctx, c.runtime)
	if err != nil {
		return nil, err
	}
	form := in.Capabilities.Elicitation.Form
	c.client.Store(&client{forms: len(form) > 0 && string(form) != "null" && string(form) != "false"})
	none := object{}
	can := object{"list": none, "resume": none, "close": none, "delete": none}
	if found.Capabilities.Fork {
		can["fork"] = none
	}
	return object{"protocolVersion": 1,
		"agentInfo": object{"name": "harness", "title": "Harness (" + c.runtime + ")", "version": c.server.opts.Version},
		"agentCapabilities": object{"loadSession": true, "sessionCapabilities": can,
			"promptCapabilities": object{"image": found.Capabilities.Images, "audio": false, "embeddedContext": true},
			"mcpCapabilities":    object{"http": false, "sse": false}},
		"authMethods": []any{}}, nil
}
