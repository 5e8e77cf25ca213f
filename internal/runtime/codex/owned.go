package codex

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

const methodThreadStart = "thread/start"

// workerStart has the parameters of thread/start for a worker's conversation. The answer names it before its first
// notification; only warnings come earlier (runtime.Signal.WorkerOpening).
type workerStart object

// announcesWorker is stdio.Call.Announces of a request with workerStart.
const announcesWorker = "worker"

// Announce implements stdio.Announcer.
func (c *conn) Announce(as string, result json.RawMessage) []runtime.Signal {
	var named ids
	_ = json.Unmarshal(result, &named) // an answer without a conversation opened none
	if as != announcesWorker || named.Thread.ID == "" {
		return nil
	}
	return []runtime.Signal{{Kind: runtime.SignalNotification, ThreadID: c.turns.natives.Known(named.Thread.ID),
		Change: runtime.ThreadOpened{SystemOwned: true}}}
}

// NamesThreads implements runtime.Namer.
func (c *Codex) NamesThreads() bool { return true }

// parentOf returns the parent of a sub-agent's conversation, "" for none.
func parentOf(method string, params json.RawMessage) string {
	if method != wire.MethodThreadStarted {
		return ""
	}
	var said struct {
		Thread struct {
			Parent string          `json:"parentThreadId"`
			Source json.RawMessage `json:"source"`
		} `json:"thread"`
	}
	_ = json.Unmarshal(params, &said) // the decoder skips members of an unexpected type
	if said.Thread.Parent != "" {
		return runtime.KnownID(said.Thread.Parent)
	}
	var spawned struct {
		SubAgent struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subAgent"`
	}
	_ = json.Unmarshal(said.Thread.Source, &spawned) // a source that is a string has no parent
	return runtime.KnownID(spawned.SubAgent.Spawn.Parent)
}
