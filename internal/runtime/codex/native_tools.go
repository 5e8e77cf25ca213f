package codex

import (
	"context"
	"errors"
)

// firstBare is the oldest version that can disable all its own tools by configuration. Older and unknown versions
// refuse a conversation without tools.
var firstBare = version{0, 169, 0}

// errKeepsTools means that this codex cannot disable its own tools.
var errKeepsTools = errors.New("nativeTools off needs codex 0.169.0 or later, and this one is older or of an unknown version")

// toolsGo returns an error for versions that cannot disable their own tools.
func (v version) toolsGo() error {
	if v == (version{}) || firstBare.after(v) {
		return errKeepsTools
	}
	return nil
}

// takeTools disables codex's own tools in a conversation before its start or its loading. Without an environment it
// has no shell and no files either.
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

// nativeToolsOff reports whether codex's own tools are disabled in a conversation.
func (c *Codex) nativeToolsOff(ctx context.Context, threadID string) (bool, error) {
	if c.options.Setup.NativeToolsOff == nil {
		return false, nil
	}
	return c.options.Setup.NativeToolsOff(ctx, threadID)
}
