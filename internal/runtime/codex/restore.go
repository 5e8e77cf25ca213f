package codex

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"harness/internal/runtime"
)

// restore writes a lost conversation again under its id, with its history as the first input for the model. codex
// loads it from the path; its index may have another one. It returns runtime.ErrInvalidState if codex has files of
// the conversation, which must not be overwritten.
func (r *rollouts) restore(in runtime.StartTurn) (path string, err error) {
	home := r.homeDir()
	if home == "" {
		return "", fmt.Errorf("%w: where codex keeps its conversations is not known: set CODEX_HOME", runtime.ErrInvalidState)
	}
	kept, err := threadFiles(home, in.ThreadID)
	if err != nil {
		return "", err
	}
	for _, path := range kept {
		if strings.HasPrefix(filepath.Base(path), rolloutPrefix) {
			return "", fmt.Errorf("%w: codex cannot load session %s, but has a file of it: %s", runtime.ErrInvalidState,
				in.ThreadID, path)
		}
	}
	now := time.Now().UTC()
	at := now.Format("2006-01-02T15:04:05.000Z")
	dir := filepath.Join(home, "sessions", now.Format("2006"), now.Format("01"), now.Format("02"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write a lost conversation anew: %w", err)
	}
	var rollout bytes.Buffer
	for _, line := range []object{
		{"timestamp": at, "type": "session_meta", "payload": object{"id": in.ThreadID, "timestamp": at, "cwd": in.Cwd,
			"originator": "harness", "cli_version": r.client, "source": "vscode"}},
		{"timestamp": at, "type": "response_item", "payload": object{"type": "message", "role": "user",
			"content": []object{{"type": "input_text", "text": in.History}}}},
	} {
		encoded, err := encode(line)
		if err != nil {
			return "", fmt.Errorf("write a lost conversation anew: %w", err)
		}
		rollout.Write(append(encoded, '\n'))
	}
	path = filepath.Join(dir, rolloutPrefix+now.Format("2006-01-02T15-04-05")+"-"+in.ThreadID+".jsonl")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("write a lost conversation anew: %w", err)
	}
	_, err = file.Write(rollout.Bytes())
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("write a lost conversation anew: %w", errors.Join(err, os.Remove(path)))
	}
	return path, nil
}

// rolloutPrefix is the prefix of the names of codex's conversation files.
const rolloutPrefix = "rollout-"
