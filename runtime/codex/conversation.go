package codex

import "harness/runtime/process"

// Conversation is the thread for which codex started a process, "" when it does not say (versions before 0.169 do not). The process must be
// right below codex: what that runs may have changed its own environment.
func Conversation(pid int) string {
	if pid <= 0 {
		return ""
	}
	return process.Variable(pid, "CODEX_THREAD_ID")
}
