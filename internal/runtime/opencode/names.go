package opencode

import (
	"strings"
	"sync"
)

// names maps a conversation of OpenCode to its session and its folder.
type names struct {
	mu       sync.Mutex
	byNative map[string]known
	natives  map[string]string
}

type known struct {
	thread, folder string
	// levels are the levels of the conversation's current permissions, "" if they must be fetched.
	levels levels
}

func newNames() *names { return &names{byNative: map[string]known{}, natives: map[string]string{}} }

// learn stores a conversation; an empty folder keeps the known one.
func (n *names) learn(thread, native, folder string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.byNative[native]
	one.thread = thread
	if folder != "" {
		one.folder = folder
	}
	n.byNative[native], n.natives[thread] = one, native
}

// forget removes a conversation.
func (n *names) forget(native string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.natives, n.byNative[native].thread)
	delete(n.byNative, native)
}

// thread returns the session of a conversation, "" if unknown.
func (n *names) thread(native string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byNative[native].thread
}

// native returns OpenCode's id of a session, and an id of OpenCode unchanged. "" if unknown.
func (n *names) native(thread string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if native := n.natives[thread]; native != "" {
		return native
	}
	if strings.HasPrefix(thread, "ses_") {
		return thread
	}
	return ""
}

// of returns the known data of a conversation.
func (n *names) of(native string) known {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byNative[native]
}

// apply stores the levels of a conversation.
func (n *names) apply(native string, now levels) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one, has := n.byNative[native]; has {
		one.levels = now
		n.byNative[native] = one
	}
}
