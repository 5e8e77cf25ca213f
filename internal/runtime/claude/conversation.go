package claude

import (
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"harness/internal/runtime"
)

// conversation is a conversation, whether or not a process serves it.
type conversation struct {
	thread string
	// sending lets messages through one after the other.
	sending chan struct{}

	mu sync.Mutex
	// native is Claude Code's own name of it, a UUID.
	native   string
	controls controls
	// nativeToolsOff says that the agent is to have no tools of its own, as far as that is not stored yet.
	nativeToolsOff bool
	// carried is what goes on in its next process; recalled says that it is known.
	carried  state
	recalled bool
	live     *process
	// release lets go of the process of a turn that runs, nil when none does.
	release func()
}

// conversation is the conversation of a session; native is Claude Code's own name of it when that is known.
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

// known is a conversation this server knows, nil for another one.
func (r *Runtime) known(thread string) *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.talks[thread]
}

// nativeID is Claude Code's name of a session's conversation: the session's id when it is a UUID, which is what Claude
// Code takes.
func nativeID(thread string) string {
	if parsed, err := uuid.Parse(thread); err == nil {
		return parsed.String()
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("session:"+thread)).String()
}

// written reports whether a conversation has a history, so that it can be resumed.
func written(configDir, native string) (bool, error) {
	found, err := filepath.Glob(filepath.Join(escaped(configDir), "projects", "*", native+".jsonl"))
	return len(found) > 0, err
}

// escaped is a path as part of a pattern.
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

// hold keeps the process of a turn that began until rest; false when it is kept already.
func (t *conversation) hold(release func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.release != nil {
		return false
	}
	t.release = release
	return true
}

// rest lets go of it.
func (t *conversation) rest() {
	t.mu.Lock()
	release := t.release
	t.release = nil
	t.mu.Unlock()
	if release != nil {
		release()
	}
}

// described is the conversation as others see it.
func (t *conversation) described() runtime.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return runtime.Thread{ID: t.thread, NativeID: t.native, Cwd: t.controls.Cwd, Source: Name, ModelProvider: "anthropic",
		Model: t.controls.Model}
}
