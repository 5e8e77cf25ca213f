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

// CodexBin returns CODEX_BIN. If it is unset and PATH has no codex, it returns the one beside this program, from `make
// run`.
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

// noNativeToolsFile is in the data directory while the agents of this server may not use native tools.
const noNativeToolsFile = "no-native-tools"

// nativeToolsOff reports whether all agents of this server must run without native tools.
func (s *runtimes) nativeToolsOff() bool { return s.cfg.Tools.Native == runtime.NativeToolsOff }

// endWithNativeTools ends agents that an earlier server started with native tools, if agents may no longer have them:
// most agents read that setting only when they start.
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
