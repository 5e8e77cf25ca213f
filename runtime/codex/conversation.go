package codex

import "harness/runtime/process"

// Conversation implements runtime.Locator. Versions before 0.169 do not say.
func (c *Codex) Conversation(pid int) string {
	if pid <= 0 {
		return ""
	}
	return process.Variable(pid, "CODEX_THREAD_ID")
}
