package shim

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"harness/internal/lib/durable"
	"harness/internal/runtime/process"
)

// Host is the configuration of a server's shims.
type Host struct {
	// RunDir is the folder of all shims of one data directory, absolute.
	RunDir string
	// Command is the program and the first arguments of a shim; the shim's folder follows.
	Command []string
	// Version is the server's own.
	Version string
	// DetachGrace is how long a runtime may run without a server, 0 for the default.
	DetachGrace time.Duration
	// SegmentBytes and SpoolBytes are those of Spec, 0 for the defaults.
	SegmentBytes, SpoolBytes int64
}

// Spawn starts a shim, detached from this process, and with it the runtime; it returns attached at offset 0. env is
// the whole environment of both. stderr gets the runtime's stderr lines; nil drops them (the shim's folder has them,
// too). The context bounds the start.
func (h Host) Spawn(ctx context.Context, spec Spec, env []string, stderr func([]byte)) (*Attached, error) {
	spec.Version, spec.Outer = h.Version, os.Getenv(GenerationVariable)
	if own, err := os.Executable(); err == nil {
		spec.Server = own
	}
	if spec.DetachGrace == 0 {
		spec.DetachGrace = h.DetachGrace
	}
	if spec.SegmentBytes == 0 {
		spec.SegmentBytes = h.SegmentBytes
	}
	if spec.SpoolBytes == 0 {
		spec.SpoolBytes = h.SpoolBytes
	}
	dir := filepath.Join(h.RunDir, spec.Generation)
	wait, err := h.launch(ctx, dir, spec, env)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	found, err := inspect(dir)
	if err == nil {
		var a *Attached
		if a, err = Attach(ctx, found, 0, stderr); err == nil {
			a.reaped = wait
			return a, nil
		}
	}
	_, _ = process.SweepCarrying(context.WithoutCancel(ctx), GenerationVariable+"="+spec.Generation)
	<-wait
	_ = os.RemoveAll(dir)
	return nil, fmt.Errorf("attach to a new shim: %w", err)
}

// launch starts the shim process and waits until it runs the runtime. The channel is closed after the shim has exited
// and was reaped.
func (h Host) launch(ctx context.Context, dir string, spec Spec, env []string) (<-chan struct{}, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a shim's folder: %w", err)
	}
	token := make([]byte, 32)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	if err := durable.Write(filepath.Join(dir, tokenFile), []byte(hex.EncodeToString(token))); err != nil {
		return nil, fmt.Errorf("write a shim's token: %w", err)
	}
	if err := writeJSON(filepath.Join(dir, specFile), spec); err != nil {
		return nil, fmt.Errorf("write what a shim runs: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a shim's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	ready, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe to a shim: %w", err)
	}
	defer func() { _ = ready.Close() }()
	cmd := exec.Command(h.Command[0],
		append(append([]string{}, h.Command[1:]...), dir)...) //nolint:gosec // our own binary
	cmd.Env = append(append([]string{}, env...), GenerationVariable+"="+spec.Generation, Own)
	if spec.Marker != "" {
		cmd.Env = append(cmd.Env, process.MarkVariable+"="+spec.Marker)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{child}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = child.Close()
	if err != nil {
		return nil, fmt.Errorf("start a shim: %w", err)
	}
	// It must be reaped, or it stays a zombie. If it outlives this process, init reaps it.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	if err := awaitReady(ctx, ready); err != nil {
		_, _ = process.SweepCarrying(context.WithoutCancel(ctx), GenerationVariable+"="+spec.Generation)
		<-ended
		return nil, err
	}
	return ended, nil
}

func awaitReady(ctx context.Context, ready *os.File) error {
	if deadline, ok := ctx.Deadline(); ok {
		_ = ready.SetReadDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(ready, 4<<10)).ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case line == "ok":
		return nil
	case line != "":
		return fmt.Errorf("the shim could not start the runtime: %s", line)
	case ctx.Err() != nil:
		return fmt.Errorf("the shim did not start in time: %w", ctx.Err())
	}
	return fmt.Errorf("the shim ended at start: %w", err)
}
