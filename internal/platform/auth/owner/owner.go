// Package owner manages the owner's token of a server, which allows everything.
//
// It owns how the token is made, stored and recognized. The data directory contains only the token's hash, because an
// agent of another server may be able to read that directory. The token is in the configuration folder of the server's
// user, which every server hides from its runtimes. It must never know a request.
package owner

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"harness/internal/lib/durable"
)

// Prefix is the prefix of every owner's token.
const Prefix = "hro_"

// hashFile is the token's SHA-256 in hexadecimal digits, in the data directory.
const hashFile = "owner-token.sha256"

// ErrNoPlace means that the user has no configuration folder.
var ErrNoPlace = errors.New("no folder for the owner's token: set HOME, or XDG_CONFIG_HOME to an absolute path")

// ConfigFolder returns the folder with the user's harness settings: XDG_CONFIG_HOME/harness, or else
// HOME/.config/harness. lookup is os.Getenv. The error is ErrNoPlace.
func ConfigFolder(lookup func(string) string) (string, error) {
	if folder := lookup("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "harness"), nil
	}
	if home := lookup("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "harness"), nil
	}
	return "", ErrNoPlace
}

// Token is the owner's token of one server. Safe for concurrent use.
type Token struct {
	hashPath string
	// path is the token's file, "" without a configuration folder.
	path    string
	problem error

	mu     sync.Mutex
	read   fs.FileInfo // the hash file's information when hash was read
	hash   []byte
	access context.Context //nolint:containedctx // it spans the token's life, not a call's
	end    context.CancelFunc
}

// Of returns the token of the server with a data directory and an id. It neither creates nor reads a file. lookup is
// os.Getenv.
func Of(dataDir, serverID string, lookup func(string) string) *Token {
	t := &Token{hashPath: filepath.Join(dataDir, hashFile)}
	folder, err := ConfigFolder(lookup)
	if err != nil {
		t.problem = err
		return t
	}
	t.path = filepath.Join(folder, "owner", serverID)
	return t
}

// Path returns the token's file, "" without a configuration folder.
func (t *Token) Path() string { return t.path }

// MakeFolder creates the folder of the tokens, so that it can be hidden from runtimes, and returns it.
func (t *Token) MakeFolder() (string, error) {
	if t.path == "" {
		return "", t.problem
	}
	folder := filepath.Dir(t.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of owner's tokens: %w", err)
	}
	return folder, nil
}

// Ensure makes the token of a server that never had one. On an error the token could not be stored, and the server has
// none.
func (t *Token) Ensure() (made bool, err error) {
	if _, err := os.Lstat(t.hashPath); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	secret := newSecret()
	// The token is stored first. A server that is killed in between makes another one at its next start.
	if err := t.put(secret); err != nil {
		return false, err
	}
	return true, t.putHash(secret)
}

// Renew makes another token and invalidates the old one. A token that cannot be stored is nevertheless valid, and the
// error is a *NotKeptError.
func (t *Token) Renew() (secret string, err error) {
	secret = newSecret()
	kept := t.put(secret)
	if err := t.putHash(secret); err != nil {
		return "", err
	}
	if kept != nil {
		return secret, &NotKeptError{kept}
	}
	return secret, nil
}

// NotKeptError means that a valid token is stored in no file.
type NotKeptError struct{ err error }

// Error implements error.
func (e *NotKeptError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *NotKeptError) Unwrap() error { return e.err }

func newSecret() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	return Prefix + base64.RawURLEncoding.EncodeToString(random)
}

func (t *Token) put(secret string) error {
	if _, err := t.MakeFolder(); err != nil {
		return err
	}
	return durable.Write(t.path, []byte(secret+"\n"))
}

func (t *Token) putHash(secret string) error {
	if err := durable.Write(t.hashPath, []byte(hex.EncodeToString(hashOf(secret))+"\n")); err != nil {
		return fmt.Errorf("store the hash of the owner's token: %w", err)
	}
	return nil
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Remedy is the advice for a token that cannot be read.
const Remedy = "harness token --renew makes another one"

// Read reads the token from its file. Errors name the cause and the remedy.
func (t *Token) Read() (string, error) {
	if t.path == "" {
		return "", fmt.Errorf("%w; %s", t.problem, Remedy)
	}
	_, hashErr := os.Stat(t.hashPath)
	if errors.Is(hashErr, fs.ErrNotExist) {
		return "", fmt.Errorf("the server of %s has no owner's token yet: start it with harness serve; where it could not keep one, %s",
			filepath.Dir(t.hashPath), Remedy)
	}
	file, err := os.OpenFile(t.path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", fmt.Errorf("the owner's token cannot be read: %w; run this as the server's user and with its HOME and XDG_CONFIG_HOME, or "+
			"%s", err, Remedy)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Mode().Perm()&0o077 != 0 {
		return "", errors.Join(err, fmt.Errorf("other users can read %s: chmod 600 it, or better, %s", t.path, Remedy))
	}
	content := make([]byte, 256)
	n, err := file.Read(content)
	if err != nil {
		return "", fmt.Errorf("the owner's token in %s cannot be read: %w; %s", t.path, err, Remedy)
	}
	secret := strings.TrimSpace(string(content[:n]))
	if current, err := t.hashNow(); err == nil && subtle.ConstantTimeCompare(hashOf(secret), current) != 1 {
		return "", fmt.Errorf("%s is of before the owner's token was renewed elsewhere; %s", t.path, Remedy)
	}
	return secret, nil
}

func (t *Token) hashNow() ([]byte, error) {
	content, err := os.ReadFile(t.hashPath)
	if err != nil {
		return nil, err
	}
	hash, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err == nil && len(hash) != sha256.Size {
		err = fmt.Errorf("%s is damaged; %s", t.hashPath, Remedy)
	}
	return hash, err
}

// Fingerprint returns a different text for each token, "" without one. It does not reveal the token.
func (t *Token) Fingerprint() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.refresh() {
		return ""
	}
	return hex.EncodeToString(t.hash)
}

// Find reports whether a secret is the token, and returns a context that ends when the token is replaced. It reads the
// hash file each time, so that a renewed token is valid at once and the old one is not. If the file is unreadable, no
// token is valid.
func (t *Token) Find(secret string) (context.Context, bool) {
	if !strings.HasPrefix(secret, Prefix) {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.refresh() {
		return nil, false
	}
	return t.access, subtle.ConstantTimeCompare(hashOf(secret), t.hash) == 1
}

// refresh reads the hash if its file changed; false if there is none.
func (t *Token) refresh() bool {
	now, err := os.Stat(t.hashPath)
	if err == nil && t.read != nil && os.SameFile(now, t.read) && now.ModTime().Equal(t.read.ModTime()) && now.Size() == t.read.Size() {
		return true
	}
	var hash []byte
	if err == nil {
		hash, err = t.hashNow()
	}
	if t.end != nil && (err != nil || subtle.ConstantTimeCompare(hash, t.hash) != 1) {
		t.end()
		t.end = nil
	}
	if err != nil {
		t.read = nil
		return false
	}
	if t.end == nil {
		t.access, t.end = context.WithCancel(context.Background())
	}
	t.read, t.hash = now, hash
	return true
}
