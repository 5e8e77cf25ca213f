package gitworkspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// harmless are the faults that git finds in histories written by old programs, and that do no harm to readers. All
// other faults that `git fsck --strict` finds are refused on import. Those are names that lead out of a folder or into
// its .git (hasDot, hasDotdot, hasDotgit, fullPathname). Others are submodules that run a command (gitmodulesUrl,
// gitmodulesName), links in place of .gitmodules, and content hidden from readers (nulInCommit). Git 2.20 and later
// know all of these.
var harmless = []string{
	"badDate", "badDateOverflow", "badEmail", "badFilemode", "badName", "badTagName", "badTimezone", "missingEmail",
	"missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry", "multipleAuthors",
	"zeroPaddedDate", "zeroPaddedFilemode",
}

// indexPack returns the command that stores a pack from its standard input if all its objects are allowed. A fetch of a
// bundle would not check them: git does so for remotes, and for bundles only in its newest versions.
func indexPack() []string {
	return []string{"index-pack", "--stdin", "--fix-thin", "--strict=" + strings.Join(harmless, "=ignore,") + "=ignore"}
}

// packOf returns the pack of a bundle as git writes one here (gitformat-bundle, version 2): everything after its
// header.
func packOf(bundle io.Reader) (io.Reader, error) {
	pack := bufio.NewReader(bundle)
	if line, err := pack.ReadString('\n'); err != nil || line != "# v2 git bundle\n" {
		return nil, errors.Join(errors.New("the bundle is none as git writes it here"), err)
	}
	for {
		line, err := pack.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("the bundle ends in its header: %w", err)
		}
		if line == "\n" {
			return pack, nil
		}
	}
}

// admit stores a bundle's objects in this server's repository.
func (s *Store) admit(ctx context.Context, bundle string) (err error) {
	file, err := os.Open(bundle)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	pack, err := packOf(file)
	if err != nil {
		return err
	}
	if _, err = s.git(ctx, pack, indexPack()...); err != nil {
		return errors.Join(err, s.removeHalfPacks())
	}
	return nil
}

// removeHalfPacks removes the files that git leaves behind for packs that it refused.
func (s *Store) removeHalfPacks() error {
	left, err := filepath.Glob(filepath.Join(s.repository(), "objects", "pack", "tmp_*"))
	for _, path := range left {
		err = errors.Join(err, removed(path))
	}
	return err
}

// complaint finds the object that git refuses, and the reason, in its output.
var complaint = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`object ([0-9a-f]{40}): ([a-zA-Z]+): ([^\n]*)`)
})

// forbidden returns the object that git refuses, "" after another failure.
func forbidden(err error) string {
	failed := (*CommandError)(nil)
	if !errors.As(err, &failed) {
		return ""
	}
	found := complaint().FindStringSubmatch(failed.Said)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("object %s is one by which repositories are attacked (%s: %s)", found[1], found[2], found[3])
}
