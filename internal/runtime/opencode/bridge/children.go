package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// rule is one of a conversation's permissions: the last matching one counts.
type rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// maxChildren limits the known conversations of sub-agents; beyond it, every request needs an answer.
const maxChildren = 10_000

// adopt registers a conversation of a sub-agent.
func (b *bridge) adopt(child, parent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if root := b.parents[parent]; root != "" {
		parent = root
	}
	if len(b.parents) < maxChildren {
		b.parents[child] = parent
	}
}

// answerChild answers a sub-agent's request if the permissions of its parent conversation decide it. OpenCode does
// not pass them on, so a sub-agent requests approval for everything. It returns false when a user has to decide, or
// the conversation has no parent.
func (b *bridge) answerChild(ctx context.Context, session string, payload json.RawMessage) (answered bool, err error) {
	b.mu.Lock()
	parent, folder := b.parents[session], b.folders[session]
	b.mu.Unlock()
	if parent == "" {
		return false, nil
	}
	var asked struct {
		Properties struct {
			ID         string   `json:"id"`
			Permission string   `json:"permission"`
			Patterns   []string `json:"patterns"`
		} `json:"properties"`
	}
	var info struct {
		Permission []rule `json:"permission"`
	}
	if err := json.Unmarshal(payload, &asked); err != nil {
		return false, err
	}
	body, err := b.ok(ctx, Step{Do: http.MethodGet, Path: "/session/" + url.PathEscape(parent)})
	if err == nil {
		err = json.Unmarshal(body, &info)
	}
	if err != nil {
		return false, fmt.Errorf("read the permissions of its agent: %w", err)
	}
	reply := map[string]string{"reply": "once"}
	switch verdict(info.Permission, asked.Properties.Permission, asked.Properties.Patterns) {
	case "allow":
	case "deny":
		reply = map[string]string{"reply": "reject", "message": "This session may not do that."}
	default:
		return false, nil
	}
	body, err = json.Marshal(reply)
	if err != nil {
		return false, err
	}
	step := Step{Do: http.MethodPost, Path: "/permission/" + url.PathEscape(asked.Properties.ID) + "/reply",
		Directory: folder, Body: body}
	if _, err = b.ok(ctx, step); err != nil {
		return false, fmt.Errorf("answer it: %w", err)
	}
	return true, nil
}

// ok is do for a request that must succeed.
func (b *bridge) ok(ctx context.Context, step Step) (json.RawMessage, error) {
	status, body, err := b.do(ctx, step)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d", step.Path, status)
	}
	return body, err
}

// verdict returns the decision of permissions on a call: the strictest over its patterns.
func verdict(rules []rule, permission string, patterns []string) string {
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	worst := "allow"
	for _, pattern := range patterns {
		said := "ask"
		for _, one := range rules {
			if matches(one.Permission, permission) && matches(one.Pattern, pattern) {
				said = one.Action
			}
		}
		if said == "deny" || said == "ask" && worst == "allow" {
			worst = said
		}
	}
	return worst
}

// matches reports whether a pattern covers a text. "*" matches any text; a pattern that ends in "*" matches its
// prefix ("touch *" also "touch").
func matches(pattern, text string) bool {
	beginning, open := strings.CutSuffix(pattern, "*")
	if !open {
		return pattern == text
	}
	return strings.HasPrefix(text, beginning) || strings.TrimSuffix(beginning, " ") == text
}
