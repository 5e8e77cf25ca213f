package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// from records the source of the release: the module of the working folder, as committed, with the time of the commit
// unless seconds since 1970 are given. Sources without a repository, for example from an archive, have the date of
// their go.mod: git archive sets it to the time of the commit.
func (r *release) from(ctx context.Context, dir, seconds string) error {
	module, err := output(ctx, dir, "go", "env", "GOMOD")
	if err != nil {
		return err
	}
	if module == "" || module == os.DevNull {
		return fmt.Errorf("%s is not in a Go module: run this in the source folder", dir)
	}
	if r.Source, err = filepath.EvalSymlinks(filepath.Dir(module)); err != nil {
		return err
	}
	if r.Module, err = output(ctx, r.Source, "go", "list", "-m"); err != nil {
		return err
	}
	if r.Commit, err = commit(ctx, r.Source); err != nil {
		return err
	}
	switch {
	case seconds != "":
	case r.Commit != "":
		if seconds, err = output(ctx, r.Source, "git", "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	default:
		file, err := os.Stat(module)
		if err != nil {
			return err
		}
		seconds = strconv.FormatInt(file.ModTime().Unix(), 10)
		fmt.Fprintf(os.Stderr, "release: there is no repository here: dated as go.mod, %s (SOURCE_DATE_EPOCH sets another)\n",
			file.ModTime().UTC().Format(time.RFC3339))
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is seconds since 1970: %w", err)
	}
	r.Date = time.Unix(at, 0).UTC()
	return nil
}

// commit returns the commit of the folder, empty if it is not a repository. It refuses a folder with uncommitted
// changes. A repository around the folder is unrelated, and a copied worktree may refer to a missing repository.
func commit(ctx context.Context, dir string) (string, error) {
	repository := filepath.Join(dir, ".git")
	if text, err := os.ReadFile(repository); err == nil {
		named, _ := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if repository = named; !filepath.IsAbs(named) {
			repository = filepath.Join(dir, named)
		}
	}
	if _, err := os.Stat(repository); errors.Is(err, os.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	changed, err := output(ctx, dir, "git", "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "", fmt.Errorf("the source is not as it was committed, and a release is of a commit:\n%s", changed)
	}
	return output(ctx, dir, "git", "rev-parse", "HEAD")
}
