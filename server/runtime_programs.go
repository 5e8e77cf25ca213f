package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"harness/internal/lib/durable"
	"harness/internal/platform/config"
	"harness/internal/runtime"
	"harness/internal/runtime/process/shim"
)

// CodexBin is CODEX_BIN. If it is unset and PATH has none, it is the one beside this program, from `make run`.
func CodexBin(cfg *config.Config) string {
	if cfg.Source("CODEX_BIN") != config.SourceDefault {
		return cfg.CodexBin
	}
	if _, err := exec.LookPath(cfg.CodexBin); !errors.Is(err, exec.ErrNotFound) {
		return cfg.CodexBin
	}
	own, err := os.Executable()
	if err != nil {
		return cfg.CodexBin
	}
	beside := filepath.Join(filepath.Dir(own), "codex")
	if _, err := os.Stat(beside); err != nil {
		return cfg.CodexBin
	}
	return beside
}

// noNativeToolsFile is in the data directory while the agents of this server have no tools of their own.
const noNativeToolsFile = "no-native-tools"

// nativeToolsOff reports whether no agent of this server may have tools of its own.
func (s *runtimes) nativeToolsOff() bool { return s.cfg.Tools.Native == runtime.NativeToolsOff }

// endWithNativeTools ends what still runs of agents that an earlier server started with tools of their own, where they
// may have none now: most learn it when they start.
func (s *runtimes) endWithNativeTools(ctx context.Context) error {
	mark := filepath.Join(s.dir.Path, noNativeToolsFile)
	if !s.nativeToolsOff() {
		if err := os.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("note that agents have tools of their own: %w", err)
		}
		return nil
	}
	if _, err := os.Lstat(mark); err == nil {
		return nil
	}
	own, _, err := s.foundShims()
	if err != nil {
		return err
	}
	for _, f := range own {
		if !f.Alive {
			continue
		}
		s.log.Warn().Str("runtime", f.State.Runtime).Str("generation", f.Generation).
			Msg("an agent with tools of its own still runs, and may have none now (HARNESS_NATIVE_TOOLS); ending it")
		if _, _, err := shim.Reap(ctx, f); err != nil {
			return fmt.Errorf("end an agent that has tools of its own: %w", err)
		}
	}
	if err := durable.Write(mark, nil); err != nil {
		return fmt.Errorf("note that agents have no tools of their own: %w", err)
	}
	return nil
}
