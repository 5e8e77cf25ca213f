package main

import (
	"context"
	"fmt"
	"os"
)

// tag tags the commit of a signed release in the repository as vVERSION. It returns an error if the tag names another
// commit.
func (r *release) tag(ctx context.Context, create bool) error {
	if r.Commit == "" || r.Key == nil {
		return nil // sources without a repository, or a release for private use
	}
	name := "v" + r.Version
	named, err := output(ctx, r.Source, "git", "for-each-ref",
		"--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)", "refs/tags/"+name)
	switch {
	case err != nil:
		return err
	case named == r.Commit:
		return nil
	case named != "":
		return fmt.Errorf("the tag %s names commit %s, not %s: choose another version, or check out the tag", name, named, r.Commit)
	case !create:
		return nil
	}
	if _, err := output(ctx, r.Source, "git", "tag", "--no-sign", name, r.Commit); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "release: tagged %s; publish it with: git push origin %s\n", name, name)
	return nil
}
