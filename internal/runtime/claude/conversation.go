package claude

import (
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"harness/internal/runtime"
)

// conversation is a conversation, with or without a process.
type conversation struct {
	thread string
	// sending serializes messages.
	sending chan struct{}

	mu sync.Mutex
	// native is Claude Code's id of the conversation, a UUID.
	native   string
	controls controls
	// nativeToolsOff disables the agent's own tools until the session is stored with that setting.
	nativeToolsOff bool
	// carried is the state for its next process; recalled means that it is known.
	carried  state
	recalled bool
	live     *process
	// release releases the process of a running turn, nil without one.
	release func()
}

// conversation returns the conversation of a session; native is Claude Code's own id if known.
func (r *Runtime) conversation(thread, native string) *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.talks[thread]
	if t == nil {
		t = &conversation{thread: thread, native: native, sending: make(chan struct{}, 1)}
		if t.native == "" {
			t.native = nativeID(thread)
		}
		r.talks[thread] = t
	}
	return t
}

// known returns a conversation that this server has in memory, otherwise nil.
func (r *Runtime) known(thread string) *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.talks[thread]
}

// nativeID returns Claude Code's id of a session's conversation: the session's id if it is a UUID, as Claude Code
// requires.
func nativeID(thread string) string {
	if parsed, err := uuid.Parse(thread); err == nil {
		return parsed.String()
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("session:"+thread)).String()
}

// written reports whether a conversation has a history to resume.
func written(configDir, native string) (bool, error) {
	found, err := filepath.Glob(filepath.Join(escaped(configDir), "projects", "*", native+".jsonl"))
	return len(found) > 0, err
}

// escaped returns a path as part of a pattern.
func escaped(path string) string {
	var out []rune
	for _, c := range path {
		switch c {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}

func (t *conversation) process() *process {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live
}

// hold keeps the process of a started turn until unhold; false when it is already kept.
func (t *conversation) hold(release func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.release != nil {
		return false
	}
	t.release = release
	return true
}

// unhold releases the process.
func (t *conversation) unhold() {
	t.mu.Lock()
	release := t.release
	t.release = nil
	t.mu.Unlock()
	if release != nil {
		release()
	}
}

// described returns the conversation for callers.
func (t *conversation) described() runtime.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return runtime.Thread{ID: t.thread, NativeID: t.native, Cwd: t.controls.Cwd, Source: Name, ModelProvider: "anthropic",
		Model: t.controls.Model}
}
