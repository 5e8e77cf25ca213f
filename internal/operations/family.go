package operations

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/lib/keylock"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

// LineageStore has the methods of sessions that Family needs.
type LineageStore interface {
	// Child prepares the lineage of a new child of a session. If an earlier request had the key, it returns that child
	// and true. session.ErrKeyReused, *session.TreeLimitError.
	Child(ctx context.Context, parentID, key, request string) (child session.Lineage, made bool, err error)
	// Descendants lists the sessions below a session, nearest first.
	Descendants(ctx context.Context, sessionID string) ([]session.Lineage, error)
	// Address completes the envelope of a new message to a session. If an earlier request had its key, it returns the
	// id of that message. session.ErrKeyReused, *session.TreeLimitError.
	Address(ctx context.Context, to string, mail *session.Envelope) (sent string, err error)
	// Receipts lists the selected messages between sessions, newest first.
	Receipts(ctx context.Context, of session.ReceiptQuery) ([]session.Receipt, error)
}

// Family lets a session start others, which it then owns, and send messages to them. The caller is the session itself: protocols
// identify it by its bearer.
type Family struct {
	access   *Access
	store    LineageStore
	opener   *Opener
	queue    QueueStore
	sessions EditorStore
	locks    keylock.Locks
	// elsewhere is Options.Elsewhere.
	elsewhere func(ctx context.Context, refused error, in Errand) error
}

// Errand is an operation for the node of a session: Interrupt, Archive, or Deliver with its Mail.
type Errand struct {
	Operation Operation
	SessionID string
	Mail      Mail
}

// StartChild names the operation of a session that starts another one, for Access.Check.
const StartChild Operation = "start a child"

// ChildStart is a session's request for a new session. Omitted runtime, levels and directory are the parent's.
type ChildStart struct {
	// Key identifies the request: for 24 h, the same request with it returns the same session.
	Key                 string
	Runtime, Cwd, Title string
	// Message is the parent's first message to the new session (SendMail), "" for none.
	Message                                          string
	Model                                            *string
	FilesystemSandbox, NetworkAccess, ApprovalPolicy *string
}

// StartChild opens a session on behalf of another one. The new session has at most the rights of its parent and is in
// the parent's project. *session.WiderThanParentError, *session.TreeLimitError, session.ErrKeyReused; other errors are
// those of Create.
func (s *Family) StartChild(ctx context.Context, parentID string, in ChildStart) (session.Session, error) {
	var none session.Session
	parent, _, err := s.access.find(ctx, StartChild, parentID)
	if err != nil {
		return none, err
	}
	var p problems
	p.text("key", in.Key, MaxSettingKey)
	p.most("title", in.Title, MaxTitle)
	p.most("message", in.Message, MaxMail)
	if err := p.err(); err != nil {
		return none, err
	}
	create, err := s.within(parent, in)
	if err != nil {
		return none, err
	}
	release, err := s.locks.Acquire(ctx, "start "+parentID)
	if err != nil {
		return none, err
	}
	defer release()
	child, made, err := s.store.Child(ctx, parentID, in.Key, digest(in))
	if err != nil {
		return none, err
	}
	var started session.Session
	if made {
		started, err = s.access.lookups.Lookup(ctx, child.SessionID)
	} else {
		create.Child = &child
		started, err = s.opener.Create(ctx, create)
	}
	if err == nil && in.Title != "" && started.Title == session.NewChatTitle {
		started, err = s.sessions.Rename(ctx, started.ID, in.Title)
	}
	if err == nil && in.Message != "" {
		_, err = s.SendMail(ctx, parentID, Mail{Key: "start " + started.ID, To: started.ID, Text: in.Message})
	}
	return started, err
}

// digest returns a hash of a request, to recognize another one with the same key.
func digest(request any) string {
	sum := sha256.Sum256(javascript.MustEncode(request))
	return hex.EncodeToString(sum[:])
}

// within returns the request for a session with at most the parent's rights: *session.WiderThanParentError.
func (s *Family) within(parent session.Session, in ChildStart) (session.Create, error) {
	of, unnamed := parent.Controls, in.NetworkAccess == nil
	for _, level := range []struct {
		field     string
		requested **string
		parent    string
		rising    []string
	}{
		{"sandbox", &in.FilesystemSandbox, of.FilesystemSandbox, []string{"read-only", "workspace-write", "danger-full-access"}},
		{"network", &in.NetworkAccess, of.NetworkAccess, []string{"restricted", "enabled"}},
		{"approval", &in.ApprovalPolicy, of.ApprovalPolicy, []string{"untrusted", "on-request", "on-failure", "never"}},
	} {
		if *level.requested == nil {
			*level.requested = &level.parent
		}
		at := slices.Index(level.rising, **level.requested)
		if at < 0 || at > slices.Index(level.rising, level.parent) {
			return session.Create{}, &session.WiderThanParentError{Field: level.field, Requested: **level.requested, Parent: level.parent}
		}
	}
	if unnamed && of.Unrestrictable() && *in.FilesystemSandbox == of.FilesystemSandbox {
		in.NetworkAccess = nil // nothing restricts the parent's network, and a new session may not claim the contrary
	}
	cwd, err := s.folderWithin(parent.Cwd, in.Cwd)
	create := session.Create{Runtime: cmp.Or(in.Runtime, parent.Runtime), Cwd: cwd, Model: in.Model,
		FilesystemSandbox: in.FilesystemSandbox, NetworkAccess: in.NetworkAccess, ApprovalPolicy: in.ApprovalPolicy,
		NonInteractive: of.NonInteractive, NativeTools: of.NativeTools}
	if parent.ProjectID != nil {
		create.ProjectID = *parent.ProjectID
	}
	return create, err
}

// folderWithin returns the directory of a child without symbolic links, since its parent may have created some.
func (s *Family) folderWithin(parent, requested string) (string, error) {
	if requested != "" && !filepath.IsAbs(requested) {
		requested = filepath.Join(parent, requested)
	}
	real, err := s.opener.store.CheckFolder(cmp.Or(requested, parent))
	if err != nil {
		return "", err
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		return "", &session.FolderError{Folder: requested}
	}
	if root, err := filepath.EvalSymlinks(parent); err != nil || !under(real, root) {
		return "", &session.WiderThanParentError{Field: "cwd", Requested: requested, Parent: parent}
	}
	return real, nil
}

// Descendants lists the sessions that a session started, and those below them, nearest first.
func (s *Family) Descendants(ctx context.Context, sessionID string) ([]session.Lineage, error) {
	if s.store == nil {
		return nil, nil
	}
	return s.store.Descendants(ctx, sessionID)
}

// atItsNode carries out an operation that was refused here at the node of the session. Without other nodes to ask, it skips
// such a session.
func (s *Family) atItsNode(ctx context.Context, refused error, in Errand) error {
	if !errors.As(refused, new(*session.NotOwnerError)) {
		return refused
	}
	if s.elsewhere == nil {
		return nil
	}
	return s.elsewhere(ctx, refused, in)
}

// archiveElsewhere archives the sessions of other nodes below a session that is to be deleted. A failure does not prevent
// the deletion.
func (s *Family) archiveElsewhere(ctx context.Context, sessionID string) {
	below, err := s.Descendants(ctx, sessionID)
	for _, one := range below {
		if refused := s.access.Check(ctx, Archive, one.SessionID); errors.As(refused, new(*session.NotOwnerError)) {
			failed := s.atItsNode(ctx, refused, Errand{Operation: Archive, SessionID: one.SessionID})
			if Classify(failed).Code != CodeNotMaterialized {
				err = errors.Join(err, failed)
			}
		}
	}
	if err != nil {
		telemetry.Log(ctx).Warn().Err(err).Str("session_id", sessionID).
			Msg("a session of a deleted session is not archived; archive it")
	}
}

// CheckVisitor checks that the agent of a session of another node may act through that node: the session exists, is for
// users, and belongs to that node.
func (s *Family) CheckVisitor(ctx context.Context, sessionID, node string) error {
	found, err := s.access.lookups.Lookup(ctx, sessionID)
	switch {
	case err != nil:
		return err
	case found.SystemOwned:
		return &SystemSessionError{SessionID: sessionID}
	case found.NodeID != node:
		return &session.NotOwnerError{SessionID: sessionID, Owner: found.NodeID, Node: node}
	}
	return nil
}

// CheckOwn checks that a session is the caller's own or one of its descendants: session.ErrNotFound, as for a session
// that does not exist.
func (s *Family) CheckOwn(ctx context.Context, caller, sessionID string) error {
	if caller == sessionID {
		return nil
	}
	below, err := s.Descendants(ctx, caller)
	if err == nil && !slices.ContainsFunc(below, func(one session.Lineage) bool { return one.SessionID == sessionID }) {
		err = session.ErrNotFound
	}
	return err
}
