package gitworkspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // by which git names objects
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// repository is the stored part of a folder's own repository, except its objects.
type repository struct {
	// Head is the target of HEAD: a reference, or a commit.
	Head string `json:"head"`
	// Refs are its references with their targets, as git show-ref prints them.
	Refs []reference `json:"refs"`
	// Tags are the annotated tags among their targets, byte for byte: no commit leads to a tag.
	Tags []string `json:"tags"`
	// Config are the settings of its remotes, its branches and its committer.
	Config []setting `json:"config"`

	index string // the tree of the staged files, "" when unknown
}

type reference struct {
	Name   string `json:"name"`
	Object string `json:"object"`
	// commit is its final target.
	commit string
}

type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxDescription bounds the stored part of a repository, except its objects.
const maxDescription = 32 << 20

func (r *repository) encode() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if len(text) > maxDescription {
		return nil, refusedError(fmt.Sprintf("its repository has more references than can be stored (%d MiB)", maxDescription>>20))
	}
	return text, err
}

// commits returns the targets of the references, each once.
func (r *repository) commits() []string {
	var all []string
	for _, ref := range r.Refs {
		all = append(all, ref.commit)
	}
	if isObject(r.Head) {
		all = append(all, r.Head)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownRepository is the folder's own repository.
const ownRepository = folderPlace + "/.git"

// readRepository reads the folder's repository.
func (c confined) readRepository(ctx context.Context) (*repository, error) {
	own := c.at(ownRepository, scratchPlace+"/staged.index")
	r := &repository{Refs: []reference{}, Tags: []string{}, Config: []setting{}}
	listed, err := own.git(ctx, nil, "for-each-ref", "--format=%(objectname) %(objecttype) %(refname)")
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(fields) != 3 || !isObject(fields[0]) {
			return nil, fmt.Errorf("git lists a reference as %q", line)
		}
		if len(fields[0]) != 2*sha1.Size {
			return nil, refusedError("its repository names objects by SHA-256")
		}
		switch ref := (reference{Name: fields[2], Object: fields[0]}); fields[1] {
		case "commit":
			ref.commit = ref.Object
			r.Refs = append(r.Refs, ref)
		case "tag":
			tags[ref.Object] = ""
			r.Refs = append(r.Refs, ref)
		}
	}
	if r.Tags, err = own.tags(ctx, tags); err != nil {
		return nil, err
	}
	r.Refs = slices.DeleteFunc(r.Refs, func(ref reference) bool { return ref.peel(tags) == "" }) // to a file: no server supports that
	for i, ref := range r.Refs {
		r.Refs[i].commit = ref.peel(tags)
	}
	if r.Head, err = own.line(ctx, nil, "symbolic-ref", "--quiet", "HEAD"); err != nil {
		if r.Head, err = own.line(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
			return nil, err
		}
	}
	if r.Config, err = own.settings(ctx); err != nil {
		return nil, err
	}
	r.index, err = c.staged(ctx)
	return r, err
}

// peel returns the commit of a reference, "" for another target. tags are the targets of tags.
func (r reference) peel(tags map[string]string) string {
	if r.commit != "" {
		return r.commit
	}
	next := r.Object
	for range tags {
		to, tagged := tags[next]
		if !tagged {
			break
		}
		next = to
	}
	return next
}

// tags reads annotated tags, and the tags that they point to. It records the target of each in leads, "" for a target
// that is not a commit.
func (c confined) tags(ctx context.Context, leads map[string]string) (all []string, err error) {
	all = []string{}
	for due := slices.Sorted(maps.Keys(leads)); len(due) > 0; {
		said, err := c.git(ctx, strings.NewReader(strings.Join(due, "\n")+"\n"), "cat-file", "--batch")
		if err != nil {
			return nil, err
		}
		asked, read := due, bufio.NewReader(bytes.NewReader(said))
		due = nil
		for _, object := range asked {
			head, err := read.ReadString('\n')
			var size int
			if err == nil {
				_, err = fmt.Sscanf(head, object+" tag %d", &size)
			}
			if err != nil || size < 0 || size > len(said) {
				return nil, errors.Join(fmt.Errorf("git says of a tag %q", head), err)
			}
			text := make([]byte, size+1)
			if _, err := io.ReadFull(read, text); err != nil {
				return nil, err
			}
			all = append(all, string(text[:size]))
			var to, kind string
			if _, err := fmt.Sscanf(string(text), "object %64s\ntype %8s\n", &to, &kind); err != nil {
				return nil, fmt.Errorf("the tag %s cannot be read: %w", object, err)
			}
			if kind == "commit" || kind == "tag" {
				leads[object] = to
			}
			if _, known := leads[to]; kind == "tag" && !known {
				leads[to] = ""
				due = append(due, to)
			}
		}
	}
	return all, nil
}

// kept is a regular expression for the settings that a copy of a repository gets.
const kept = `^(remote\..*\.(url|pushurl|fetch)|branch\..*\.(remote|merge|rebase)|user\.(name|email))$`

// settings reads the settings to keep. It omits passwords in addresses.
func (c confined) settings(ctx context.Context) ([]setting, error) {
	said, err := c.git(ctx, nil, "config", "--local", "--no-includes", "--null", "--get-regexp", kept)
	if failed := (*CommandError)(nil); errors.As(err, &failed) && failed.Said == "" {
		return []setting{}, nil // there are none
	}
	if err != nil {
		return nil, err
	}
	all := []setting{}
	for one := range strings.SplitSeq(strings.TrimSuffix(string(said), "\x00"), "\x00") {
		name, value, _ := strings.Cut(one, "\n")
		if strings.HasSuffix(name, "url") {
			if parsed, err := url.Parse(value); err == nil && parsed.User != nil && parsed.Scheme != "ssh" {
				parsed.User = nil
				value = parsed.String()
			}
		}
		all = append(all, setting{name, value})
	}
	return all, nil
}

// staged returns the tree of the index; "" if it has none, as in the middle of a merge.
func (c confined) staged(ctx context.Context) (string, error) {
	// On a copy, because git writes to the index in order to write the tree. Git here can reach the folder's objects,
	// and stores the new ones.
	if err := c.run(ctx, nil, io.Discard, "cp", ownRepository+"/index", scratchPlace+"/staged.index"); err != nil {
		return "", ignored(ctx, err)
	}
	tree, err := c.at(scratchPlace, scratchPlace+"/staged.index").line(ctx, nil, "write-tree")
	if err != nil || !isObject(tree) {
		return "", ignored(ctx, err)
	}
	return tree, nil
}

// ignored returns nil for a command that is allowed to fail, or an error if the command was ended.
func ignored(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return nil
}
