package gitworkspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Restore restores a folder that was stored under a name. It moves an existing folder aside, and returns its new name
// as aside; it replaces an empty one.
func (s *Store) Restore(ctx context.Context, name, snapshot, folder string) (aside string, err error) {
	ctx, release, err := s.use(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if !isName(name) || !isObject(snapshot) {
		return "", fmt.Errorf("%q %q is no snapshot", name, snapshot)
	}
	if err := s.fetch(ctx, name, snapshot); err != nil {
		return "", err
	}
	bundle := filepath.Join(s.opts.Dir, "incoming.bundle")
	defer func() { err = errors.Join(err, removed(bundle)) }()
	if _, err := s.git(ctx, nil, "bundle", "create", "--quiet", bundle, refs+name); err != nil {
		return "", err
	}
	place, err := s.newScratch("restored")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place)) }()
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { //nolint:gosec // as folders of work are
		return "", err
	}
	// Next to its final place, so that one rename puts it there.
	made := filepath.Join(filepath.Dir(folder), ".harness-restore-"+rand.Text())
	if err := os.Mkdir(made, 0o755); err != nil { //nolint:gosec // as folders of work are
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	if err := s.chown(made); err != nil {
		return "", err
	}
	// The bundle is passed in rather than mounted: the agents' user cannot access its folder.
	git := s.within(place, made, true)
	if err := git.restore(ctx, bundle, snapshot); err != nil {
		return "", err
	}
	err = unix.Rmdir(folder) // an empty one
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		aside = folder + ".before-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
		if err := os.Rename(folder, aside); err != nil {
			return "", fmt.Errorf("put what is there aside: %w", err)
		}
	}
	if err := os.Rename(made, folder); err != nil {
		return "", err
	}
	return aside, nil
}

// restore makes the folder of a bundle's snapshot.
func (c confined) restore(ctx context.Context, bundle, snapshot string) (err error) {
	if err := c.init(ctx, "--bare"); err != nil {
		return err
	}
	in, err := os.Open(bundle)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	// Objects in this server's repository from older versions are checked here.
	pack, err := packOf(in)
	if err != nil {
		return err
	}
	if _, err := c.git(ctx, pack, indexPack()...); err != nil {
		return err
	}
	if _, err := c.git(ctx, nil, "update-ref", snapshotRef, snapshot); err != nil {
		return err
	}
	if err := c.write(ctx, scratchPlace+"/info/attributes", "* -text -filter -ident -working-tree-encoding\n"); err != nil {
		return err
	}
	described, err := c.line(ctx, nil, "ls-tree", "--name-only", snapshotRef, "repository.json")
	if err != nil {
		return err
	}
	if _, err := c.git(ctx, nil, "read-tree", snapshotRef+":files"); err != nil {
		return err
	}
	if _, err := c.git(ctx, nil, "-c", "core.autocrlf=false", "-c", "core.symlinks=true", "checkout-index", "--all", "--force"); err != nil {
		return err
	}
	if described == "" {
		return nil
	}
	return c.restoreRepository(ctx)
}

// restoreRepository restores the folder's repository.
func (c confined) restoreRepository(ctx context.Context) error {
	text, err := c.git(ctx, nil, "cat-file", "blob", snapshotRef+":repository.json")
	if err != nil {
		return err
	}
	var r repository
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("what is stored of the repository cannot be read: %w", err)
	}
	own := c.at(ownRepository, ownRepository+"/index")
	if err := own.init(ctx); err != nil {
		return err
	}
	if _, err := own.git(ctx, nil, "fetch", "--quiet", "--no-tags", scratchPlace, "+"+snapshotRef+":"+snapshotRef); err != nil {
		return err
	}
	if err := own.restoreTags(ctx, r.Tags); err != nil {
		return err
	}
	var updates bytes.Buffer
	for _, ref := range r.Refs {
		fmt.Fprintf(&updates, "create %s\x00%s\x00", ref.Name, ref.Object)
	}
	if _, err := own.git(ctx, &updates, "update-ref", "--stdin", "-z"); err != nil {
		return err
	}
	head := []string{"symbolic-ref", "HEAD", r.Head}
	if isObject(r.Head) {
		head = []string{"update-ref", "--no-deref", "HEAD", r.Head}
	}
	if _, err := own.git(ctx, nil, head...); err != nil {
		return err
	}
	for _, one := range r.Config {
		if _, err := own.git(ctx, nil, "config", "--add", one.Name, one.Value); err != nil {
			return err
		}
	}
	return own.restoreIndex(ctx)
}

// restoreTags stores annotated tags.
func (c confined) restoreTags(ctx context.Context, tags []string) error {
	if len(tags) == 0 {
		return nil
	}
	pack, err := packTags(tags)
	if err != nil {
		return err
	}
	_, err = c.git(ctx, pack, indexPack()...)
	return err
}

// restoreIndex stages the files that were staged, or the files of HEAD if those are unknown.
func (c confined) restoreIndex(ctx context.Context) error {
	staged, err := c.line(ctx, nil, "ls-tree", "--name-only", snapshotRef, "index")
	if err != nil {
		return err
	}
	tree := snapshotRef + ":index"
	if staged == "" {
		if _, err := c.line(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
			tree = "--empty"
		} else {
			tree = "HEAD"
		}
	}
	if _, err := c.git(ctx, nil, "read-tree", tree); err != nil {
		return err
	}
	_, err = c.git(ctx, nil, "update-ref", "-d", snapshotRef)
	return errors.Join(err, c.refresh(ctx))
}

// refresh updates the index to the current files; differing files are no failure.
func (c confined) refresh(ctx context.Context) error {
	_, err := c.git(ctx, nil, "update-index", "-q", "--refresh")
	return ignored(ctx, err)
}
