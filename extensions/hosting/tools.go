package hosting

import (
	"context"
	"encoding/json"
	"errors"

	"harness/extensions"
)

// UseTool runs a handler's call of a tool and returns the errors to the handler.
func UseTool(ctx context.Context, tools extensions.Tools, name string, args []json.RawMessage) (
	json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, errors.New(extensions.LateCall)
	}
	if len(args) == 0 {
		return nil, errors.New(name + " needs an argument")
	}
	if name == "enqueueJob" {
		return tools.EnqueueJob(ctx, args[0])
	}
	texts := make([]string, len(args))
	for n, arg := range args {
		if json.Unmarshal(arg, &texts[n]) != nil || string(arg) == "null" {
			return nil, errors.New(name + " needs strings as arguments")
		}
	}
	switch {
	case name == "getSessionSettings" && len(texts) == 1:
		return tools.GetSessionSettings(ctx, texts[0])
	case name == "getSessionSetting" && len(texts) == 2:
		return tools.GetSessionSetting(ctx, texts[0], texts[1])
	}
	const most = 100
	return nil, errors.New("there is no tool " + name[:min(len(name), most)])
}
