package runtime_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// An error wrapped in a kind, any number of times, names the kind once.
func TestAKindIsNamedOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{runtime.ErrUnavailable, runtime.ErrRequestGone, runtime.ErrThreadNotFound,
		runtime.ErrNoActiveTurn, runtime.ErrTimeout} {
		err := errors.New("the cause")
		for range 3 {
			err = runtime.WithKind(kind, fmt.Errorf("asked: %w", err))
		}
		if n := strings.Count(err.Error(), kind.Error()); n != 1 || !errors.Is(err, kind) || !strings.HasSuffix(err.Error(), "the cause") {
			t.Errorf("%v names it %d times", err, n)
		}
	}
	twice := fmt.Errorf("%w: start: %w", runtime.ErrUnavailable, fmt.Errorf("%w: no such file", runtime.ErrUnavailable))
	if reason := runtime.ReasonOf(twice); reason != "start: no such file" {
		t.Errorf("the reason is %q", reason)
	}
}

// blindWrap matches code that wraps an error in a kind without checking whether it already has that kind.
var blindWrap = regexp.MustCompile(`"%w: %w", runtime\.Err`)

func TestNothingIsWrappedInAKindBlindly(t *testing.T) {
	t.Parallel()
	seen, repository := 0, filepath.Join("..", "..")
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != repository || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		seen++
		text, err := os.ReadFile(path)
		if found := blindWrap.Find(text); found != nil {
			t.Errorf("%s: use runtime.WithKind, so that a message names its kind once", path)
		}
		return err
	})
	if err != nil || seen < 500 {
		t.Errorf("%d files were looked at, %v", seen, err)
	}
}
