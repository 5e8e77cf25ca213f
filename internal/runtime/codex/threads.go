package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

type wireThread struct {
	ID            string            `json:"id"`
	Name          *string           `json:"name"`
	Preview       string            `json:"preview"`
	Cwd           string            `json:"cwd"`
	Source        json.RawMessage   `json:"source"`
	ModelProvider string            `json:"modelProvider"`
	Model         *string           `json:"model"`
	CreatedAt     json.Number       `json:"createdAt"`
	UpdatedAt     json.Number       `json:"updatedAt"`
	Turns         []json.RawMessage `json:"turns"`
}

// StartThread implements runtime.Threads.
func (c *Codex) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	conn, v, done, err := c.use(ctx, "")
	if err != nil {
		return runtime.Thread{}, err
	}
	defer done()
	params := object{}.with("cwd", in.Cwd).with("model", in.Model).with("sandbox", in.Sandbox).
		with("approvalPolicy", v.approvalPolicy(in.ApprovalPolicy)).withRaw("dynamicTools", in.DynamicTools)
	if in.RawEvents {
		params["experimentalRawEvents"] = true
	}
	if in.Ephemeral {
		params["ephemeral"] = true
	}
	config := object{unloadDelay: 0}
	if in.NetworkAccess == networkEnabled && in.Sandbox == sandboxWorkspace {
		// thread/start has no member for it; the configuration key only exists for this mode.
		config["sandbox_workspace_write.network_access"] = true
	}
	sourcesOff(config, in.Implicit, in.Cwd)
	if in.NativeToolsOff {
		if err := v.toolsGo(); err != nil {
			return runtime.Thread{}, err
		}
		takeTools(params, config)
	}
	params["config"] = config
	bind := c.grant(config)
	var asked any = params
	if in.SystemOwned {
		asked = workerStart(params)
	}
	thread, err := threadIn(conn.Call(ctx, c.callTimeout, methodThreadStart, asked))
	if err == nil {
		err = bind(ctx, thread.ID)
	}
	return thread, err
}

// sources returns the configuration to load a conversation with.
func (c *Codex) sources(ctx context.Context, threadID string) (object, error) {
	config := object{unloadDelay: 0}
	if c.options.Implicit != nil {
		implicit, cwd, err := c.options.Implicit(ctx, threadID)
		if err != nil {
			return nil, fmt.Errorf("find out how much codex may read by itself for session %s: %w", threadID, err)
		}
		sourcesOff(config, implicit, cwd)
	}
	if off, err := c.nativeToolsOff(ctx, threadID); err != nil || !off {
		return config, err
	}
	takeTools(object{}, config)
	return config, nil
}

// sourcesOff disables codex's reading of the conversation's folder.
func sourcesOff(config object, implicit, cwd string) {
	if implicit == runtime.ImplicitHome {
		config["project_doc_max_bytes"] = 0
		config["projects"] = object{cwd: object{"trust_level": "untrusted"}}
		config["skills.include_instructions"] = false // also those of the home: codex cannot disable only the folder's
	}
}

// ResumeThread implements runtime.Threads.
func (c *Codex) ResumeThread(ctx context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	conn, _, done, err := c.use(ctx, in.ThreadID)
	if err != nil {
		return runtime.Thread{}, err
	}
	defer done()
	return c.resume(ctx, conn, in.ThreadID, "")
}

// resume loads a conversation; with path "" codex chooses the file.
func (c *Codex) resume(ctx context.Context, conn *conn, threadID, path string) (runtime.Thread, error) {
	config, err := c.sources(ctx, threadID)
	if err != nil {
		return runtime.Thread{}, err
	}
	if c.options.Setup.Door != nil {
		c.show(config, c.options.Setup.Door.Of(threadID))
	}
	params := object{"threadId": threadID, "config": config}.with("path", path)
	ctx, cancel := context.WithTimeout(ctx, c.callTimeout)
	defer cancel()
	until := time.NewTimer(min(writerPatience, c.callTimeout))
	defer until.Stop()
	for began := time.Now(); ; {
		result, err := conn.Call(ctx, c.callTimeout, "thread/resume", params)
		open := openElsewhere(err)
		// codex may not find one that it has just unloaded.
		missing := errors.Is(err, runtime.ErrThreadNotFound) && conn.turns.stored(threadID) && time.Since(began) < findPatience
		if !open && !missing && !closing(err) {
			return threadIn(result, err)
		}
		again := time.NewTimer(closingPause)
		select {
		case <-again.C:
			continue
		case <-until.C:
			if !open {
				continue // codex is unloading it
			}
		case <-ctx.Done():
		}
		again.Stop()
		if open {
			err = fmt.Errorf("%w; another codex has this conversation open: close it there, then try again", err)
		}
		return threadIn(result, err)
	}
}

// writerPatience is how long another codex may keep a conversation open: a killed one releases it late.
const writerPatience = 10 * time.Second

// openElsewhere reports whether codex refused to load a conversation that another codex writes to.
func openElsewhere(err error) bool {
	native, ok := asNative(err)
	return ok && strings.Contains(native.Message, "already has an active writer")
}

// closingPause is the wait before a retry to load a conversation that codex is about to unload.
const closingPause = 50 * time.Millisecond

// findPatience is how long codex may fail to find an unloaded conversation that it should load or archive.
const findPatience = 3 * time.Second

// closing reports whether codex refused to load a conversation because it is unloading it.
func closing(err error) bool {
	native, ok := asNative(err)
	return ok && strings.Contains(native.Message, "is closing; retry")
}

// ListThreads implements runtime.History.
func (c *Codex) ListThreads(ctx context.Context, in runtime.ListThreads) (runtime.ThreadPage, error) {
	params := object{"archived": in.Archived}.with("cursor", in.Cursor)
	if in.Limit > 0 {
		params["limit"] = in.Limit
	}
	page, err := pageOf[json.RawMessage](ctx, c.call, "thread/list", params)
	if err != nil {
		return runtime.ThreadPage{}, err
	}
	out := runtime.ThreadPage{Threads: make([]runtime.Thread, 0, len(page.Data)), NextCursor: page.NextCursor}
	for _, raw := range page.Data {
		thread, err := parseThread(raw)
		if err != nil {
			return runtime.ThreadPage{}, err
		}
		c.launcher.Natives.Described(thread.ID, raw)
		thread.Archived = in.Archived
		out.Threads = append(out.Threads, thread)
	}
	return out, nil
}

// forked reports whether codex refused to delete the origin of a fork.
func forked(err error) bool {
	native, ok := asNative(err)
	return ok && strings.Contains(native.Message, "forked history")
}

// NameThread implements runtime.Archiver.
func (c *Codex) NameThread(ctx context.Context, threadID, name string) error {
	_, err := c.call(ctx, "thread/name/set", object{"threadId": threadID, "name": name})
	return err
}

// ArchiveThread implements runtime.Archiver. codex interrupts a running turn. It returns when the sink accepted
// thread/archived.
func (c *Codex) ArchiveThread(ctx context.Context, threadID string) error {
	_, v, done, err := c.use(ctx, threadID)
	if err != nil {
		return err
	}
	defer done()
	await, end := c.process.Expect("thread/archived", threadID)
	defer end()
	if err := c.archive(ctx, threadID); err != nil {
		return err
	}
	if v.reportsArchived() {
		await(ctx)
	}
	return nil
}

// archive archives a conversation. While codex unloads one, it briefly cannot find it.
func (c *Codex) archive(ctx context.Context, threadID string) error {
	for began := time.Now(); ; {
		_, err := c.call(ctx, "thread/archive", object{"threadId": threadID})
		native, refused := asNative(err)
		if !refused || !strings.HasPrefix(native.Message, "failed to archive session: thread ") || time.Since(began) > findPatience {
			return err
		}
		select {
		case <-time.After(closingPause):
		case <-ctx.Done():
			return err
		}
	}
}

// UnarchiveThread implements runtime.Archiver.
func (c *Codex) UnarchiveThread(ctx context.Context, threadID string) (runtime.Thread, error) {
	return threadIn(c.call(ctx, "thread/unarchive", object{"threadId": threadID}))
}

// DeleteThread implements runtime.Archiver. codex interrupts a running turn. The origin of a fork stays in codex,
// archived, while the fork exists. Clients see it as deleted.
func (c *Codex) DeleteThread(ctx context.Context, threadID string) (int, error) {
	_, _, done, err := c.use(ctx, threadID)
	if err != nil {
		return 0, err
	}
	defer done()
	home := c.homeDir()
	before, err := threadFiles(home, threadID)
	if err != nil {
		return 0, err
	}
	_, err = c.call(ctx, "thread/delete", object{"threadId": threadID})
	if forked(err) {
		err = c.archive(ctx, threadID)
		if errors.Is(err, runtime.ErrThreadNotFound) {
			err = nil // already archived
		}
		return 0, err
	}
	if unknownMethod(err) {
		// Version 0.101 cannot delete; archiving makes it close the file.
		err = c.archive(ctx, threadID)
	}
	if err != nil && !errors.Is(err, runtime.ErrThreadNotFound) {
		return 0, err
	}
	// Delete the remaining files. Which ones codex leaves differs by version.
	left, err := threadFiles(home, threadID)
	if err != nil {
		return 0, err
	}
	if err := removeFiles(left); err != nil {
		return 0, err
	}
	return len(before), nil
}

// threadIn reads the thread in an answer.
func threadIn(result json.RawMessage, err error) (runtime.Thread, error) {
	if err != nil {
		return runtime.Thread{}, err
	}
	var wrapped struct {
		Thread json.RawMessage `json:"thread"`
		Model  string          `json:"model"`
	}
	if err := json.Unmarshal(result, &wrapped); err != nil {
		return runtime.Thread{}, fmt.Errorf("read a thread codex answered with: %w", err)
	}
	thread, err := parseThread(wrapped.Thread)
	thread.Model = cmp.Or(thread.Model, wrapped.Model)
	return thread, err
}

func parseThread(raw json.RawMessage) (runtime.Thread, error) {
	var w wireThread
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &w); err != nil && !errors.As(err, &mismatch) {
		return runtime.Thread{}, fmt.Errorf("read a thread codex answered with: %w", err)
	}
	if w.ID == "" {
		return runtime.Thread{}, fmt.Errorf("codex answered with a thread without an id (%d bytes)", len(raw))
	}
	thread := runtime.Thread{
		ID: runtime.KnownID(w.ID), Preview: wire.Clean(w.Preview), Cwd: w.Cwd, Source: sourceText(w.Source),
		ModelProvider: w.ModelProvider, CreatedAt: wire.Millis([]byte(w.CreatedAt)),
		UpdatedAt: wire.Millis([]byte(w.UpdatedAt)), Raw: raw,
	}
	if w.Name != nil {
		thread.Name = wire.Clean(*w.Name)
	}
	if w.Model != nil {
		thread.Model = *w.Model
	}
	for _, raw := range w.Turns {
		thread.Turns = append(thread.Turns, wire.ReadHistory(raw))
	}
	return thread, nil
}

// sourceText returns a source's name; a source that is an object stays JSON.
func sourceText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
