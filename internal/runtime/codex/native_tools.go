package codex

import (
	"context"
	"errors"
)

// firstBare is the oldest version known to offer its model no tool of its own when that is configured. For an
// older or unknown version, a conversation without its tools is refused.
var firstBare = version{0, 169, 0}

// errKeepsTools means that this codex cannot be held to have no tools of its own.
var errKeepsTools = errors.New("nativeTools off needs codex 0.169.0 or later, and this one is older or of an unknown version")

// toolsGo refuses versions that keep tools of their own.
func (v version) toolsGo() error {
	if v == (version{}) || firstBare.after(v) {
		return errKeepsTools
	}
	return nil
}

// takeTools has codex offer the model of a conversation that is about to be made or loaded none of its own tools.
// Without an environment it has no shell and no files either.
func takeTools(params, config object) {
	params["environments"] = []string{}
	for _, feature := range []string{"apply_patch_freeform", "apps", "code_mode", "goals", "image_generation", "js_repl", "memories",
		"multi_agent", "multi_agent_v2", "request_permissions_tool", "shell_tool", "sleep_tool", "standalone_web_search", "token_budget",
		"tool_suggest", "unified_exec", "view_image", "web_search_cached", "web_search_request"} {
		config["features."+feature] = false
	}
	config["tools.experimental_request_user_input.enabled"] = false
	config["tools.update_plan.enabled"] = false
	config["web_search"] = "disabled"
}

// nativeToolsOff reports whether codex is to have no tools of its own in a conversation.
func (c *Codex) nativeToolsOff(ctx context.Context, threadID string) (bool, error) {
	if c.options.Setup.NativeToolsOff == nil {
		return false, nil
	}
	return c.options.Setup.NativeToolsOff(ctx, threadID)
}
