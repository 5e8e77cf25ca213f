package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"harness/internal/services/tools"
)

// Browser reads the folders of sessions for people. It reads nothing outside of a folder, and nothing that Closed names.
type Browser struct {
	// Hidden lists paths (real, absolute) of the server's own files.
	Hidden []string
	// Keep lists folders (real, absolute) that are not browsed, nor any folder above them: the user's home.
	Keep []string
	// Refuse, when set, is why no folder is browsed here.
	Refuse string
}

// Closed is why an entry is not shown.
type Closed string

// The reasons why an entry is not shown.
const (
	// ClosedSecret is for environment files, ClosedMetadata for version control, ClosedServer for the server's own files.
	ClosedSecret   Closed = "secret"
	ClosedMetadata Closed = "version_control"
	ClosedServer   Closed = "server"
	// ClosedOutside is for links that lead out of the folder or nowhere, ClosedSpecial for pipes, sockets and devices.
	ClosedOutside Closed = "outside"
	ClosedSpecial Closed = "special"
	// ClosedName is for names that are not UTF-8.
	ClosedName Closed = "name"
)

// Entry is one entry of a folder. What a link leads to within the folder counts, not the link.
type Entry struct {
	Name     string
	Folder   bool
	Link     bool
	Size     int64
	Modified time.Time
	// Closed is why the entry is not shown, "" if it can be opened.
	Closed Closed
}

// Listing is a page of a folder.
type Listing struct {
	Entries []Entry
	// Total counts the entries of all pages. More means that the folder has other entries, which are not listed.
	Total int
	More  bool
}

// Content is a range of a file.
type Content struct {
	Size     int64
	Modified time.Time
	// Type is the media type, by the first bytes. A binary file has no text.
	Type   string
	Binary bool
	Text   string
	// Next is where the next range begins, 0 if this is the last one.
	Next int64
}

const (
	// MaxContent bounds the range of one read in bytes.
	MaxContent = 256 << 10
	// maxListed bounds the entries of a folder that are read.
	maxListed = 200_000
	// sniffed is the number of first bytes from which the type of a file is known, as in git.
	sniffed = 8000
)

// ErrNoFile means that a folder has no such file.
var ErrNoFile = errors.New("the folder of the session has no such file")

// RefusedError says why a file or folder is not shown.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// List returns a page of a folder: first its folders, then its files, by name. "" is the session's folder itself.
// ErrNoFile, *RefusedError.
func (b Browser) List(ctx context.Context, folder, name string, offset, limit int) (Listing, error) {
	at, err := b.enter(folder)
	if err != nil {
		return Listing{}, err
	}
	defer at.root.Close()
	file, info, err := at.open(name)
	if err != nil {
		return Listing{}, err
	}
	defer file.Close()
	if !info.IsDir() {
		return Listing{}, &RefusedError{name + " is no folder"}
	}
	inside, err := at.inside(file)
	if err != nil {
		return Listing{}, refusal(err)
	}
	found, more, err := entriesOf(ctx, file)
	if err != nil {
		return Listing{}, refusal(err)
	}
	page := Listing{Total: len(found), More: more, Entries: []Entry{}}
	for _, one := range found[min(offset, len(found)):min(offset+limit, len(found))] {
		page.Entries = append(page.Entries, at.describe(inside, one))
	}
	return page, nil
}

// entriesOf reads a folder, sorted.
func entriesOf(ctx context.Context, file *os.File) (found []fs.DirEntry, more bool, err error) {
	const step = 4096
	for err == nil && !more {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		var some []fs.DirEntry
		some, err = file.ReadDir(step)
		found = append(found, some...)
		more = len(found) > maxListed
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	found = found[:min(len(found), maxListed)]
	slices.SortFunc(found, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	return found, more, nil
}

// Read returns a range of a file. ErrNoFile, *RefusedError.
func (b Browser) Read(folder, name string, from int64) (Content, error) {
	at, err := b.enter(folder)
	if err != nil {
		return Content{}, err
	}
	defer at.root.Close()
	file, info, err := at.open(name)
	if err != nil {
		return Content{}, err
	}
	defer file.Close()
	if !info.Mode().IsRegular() {
		return Content{}, &RefusedError{name + " is a folder"}
	}
	first, err := readAt(file, 0, sniffed)
	if err != nil {
		return Content{}, refusal(err)
	}
	content := Content{Size: info.Size(), Modified: info.ModTime(), Type: http.DetectContentType(first),
		Binary: bytes.IndexByte(first, 0) >= 0}
	if content.Binary {
		return content, nil
	}
	text, err := readAt(file, from, MaxContent)
	if err != nil {
		return Content{}, refusal(err)
	}
	content.Size = max(content.Size, from+int64(len(text)))
	text = wholeRunes(text, content.Size-from)
	content.Text = strings.ToValidUTF8(string(text), "\uFFFD")
	if next := from + int64(len(text)); len(text) > 0 && next < content.Size {
		content.Next = next
	}
	return content, nil
}

func readAt(file *os.File, from, most int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(file, from, most))
}

// opened is the folder of a session, opened.
type opened struct {
	Browser
	root *os.Root
	real string // the real path of the folder
}

// enter opens the folder of a session.
func (b Browser) enter(folder string) (*opened, error) {
	if b.Refuse != "" {
		return nil, &RefusedError{b.Refuse}
	}
	if !filepath.IsAbs(folder) {
		return nil, &RefusedError{"the session has no folder on this server"}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, refusal(err)
	}
	at := &opened{Browser: b, root: root}
	if at.real, err = realPath(root); err != nil {
		return nil, errors.Join(refusal(err), root.Close())
	}
	for _, kept := range append([]string{"/"}, b.Keep...) {
		if inside, err := filepath.Rel(at.real, kept); err == nil && filepath.IsLocal(inside) {
			return nil, errors.Join(&RefusedError{fmt.Sprintf("the files of %s are not shown, because it contains %s; "+
				"use a folder of the project", folder, kept)}, root.Close())
		}
	}
	return at, nil
}

// realPath returns the path of an open folder.
func realPath(root *os.Root) (string, error) {
	file, err := root.Open(".")
	if err != nil {
		return "", err
	}
	defer file.Close()
	return placeOf(file)
}

// open opens a file or folder to read, whatever links lead to it. It decides by the path of what it opened.
func (o *opened) open(name string) (*os.File, fs.FileInfo, error) {
	name, err := local(cmp.Or(name, "."))
	if err != nil {
		return nil, nil, &RefusedError{err.Error()}
	}
	info, err := o.root.Stat(name) // opening a device can have effects
	if err != nil {
		return nil, nil, refusal(err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, nil, &RefusedError{name + " is a pipe, a socket or a device"}
	}
	file, err := o.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, refusal(err)
	}
	info, err = file.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = &RefusedError{name + " is a pipe, a socket or a device"}
	}
	if err == nil {
		err = o.check(file)
	}
	if err != nil {
		return nil, nil, errors.Join(refusal(err), file.Close())
	}
	return file, info, nil
}

// inside returns the real path of an open file, relative to the folder.
func (o *opened) inside(file *os.File) (string, error) {
	at, err := placeOf(file)
	if err != nil {
		return "", err
	}
	inside, err := filepath.Rel(o.real, at)
	if err != nil || !filepath.IsLocal(inside) {
		return "", &RefusedError{"the path leaves the folder of the session"}
	}
	return inside, nil
}

// check refuses an open file whose path is closed.
func (o *opened) check(file *os.File) error {
	inside, err := o.inside(file)
	if err != nil {
		return err
	}
	if why := o.closed(inside); why != "" {
		return &RefusedError{why.reason()}
	}
	return nil
}

// reason explains why a file is not shown.
func (c Closed) reason() string {
	switch c {
	case ClosedSecret:
		return "environment files (.env) are not shown, because they hold secrets"
	case ClosedMetadata:
		return "the files of version control are not shown"
	case ClosedServer, ClosedOutside, ClosedSpecial, ClosedName:
	}
	return "this is the server's own, and no part of the folder"
}

// closed returns why a real path below the folder is not shown, "" if it is.
func (o *opened) closed(inside string) Closed {
	for _, name := range strings.Split(filepath.ToSlash(inside), "/") {
		if why := closedName(name); why != "" {
			return why
		}
	}
	if refused(filepath.Join(o.real, inside), o.Hidden) != nil {
		return ClosedServer
	}
	return ""
}

// closedName returns why entries of a name are not shown, "" if they are.
func closedName(name string) Closed {
	lower := strings.ToLower(name)
	switch {
	case lower == ".env", lower == ".envrc", strings.HasPrefix(lower, ".env."):
		return ClosedSecret
	case tools.RunsPrograms(name):
		return ClosedMetadata
	}
	return ""
}

// describe returns an entry of a folder, which is a real path.
func (o *opened) describe(folder string, found fs.DirEntry) Entry {
	name := filepath.Join(folder, found.Name())
	one := Entry{Name: found.Name(), Folder: found.IsDir(), Link: found.Type()&fs.ModeSymlink != 0, Closed: o.closed(name)}
	info, err := o.root.Stat(name)
	switch {
	case one.Closed != "":
	case !utf8.ValidString(one.Name):
		one.Closed = ClosedName
	case err != nil:
		one.Closed = ClosedOutside
	case !info.IsDir() && !info.Mode().IsRegular():
		one.Closed = ClosedSpecial
	default:
		one.Folder, one.Modified = info.IsDir(), info.ModTime()
		if !one.Folder {
			one.Size = info.Size()
		}
	}
	return one
}

// refusal turns the errors of files into ErrNoFile and *RefusedError.
func refusal(err error) error {
	var refused *RefusedError
	switch {
	case errors.As(err, &refused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return ErrNoFile
	}
	return &RefusedError{withoutPath(err).Error()}
}
