package manager

import (
	"cmp"
	"context"
	"errors"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/controledit"
	"harness/internal/services/session/lineage"
	"harness/internal/services/session/live"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
)

// Create opens a conversation in a runtime and stores it with its controls. The reply has Materialized false, as
// clients expect for a session without a message. Errors are *ElsewhereError, *UnknownRuntimeError, *LimitError,
// *FolderError, and runtime.ErrUnavailable with the cause and the remedy.
func (s *Service) Create(ctx context.Context, in session.Create) (session.Session, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return session.Session{}, err // before any call to the runtime
	}
	if err := s.Ownership.CheckLease(); err != nil {
		return session.Session{}, err
	}
	if !in.SystemOwned {
		if err := s.Ownership.CheckNew(); err != nil {
			return session.Session{}, err
		}
	}
	adapter, err := s.Registry.Chosen(in.Runtime)
	if err != nil {
		return session.Session{}, err
	}
	leave, err := s.index.Limits.Reserve(adapter.Name(), "")
	if err != nil {
		return session.Session{}, err
	}
	defer leave()
	c := &creation{in: in, adapter: adapter, id: cmp.Or(in.ID, ids.New())}
	if err := s.check(ctx, c); err != nil {
		return session.Session{}, err
	}
	// A canceled caller must not leave a conversation without a row. The calls below have their own deadlines.
	ctx = context.WithoutCancel(ctx)
	if c.sources, err = registry.SourcesAt(adapter, c.id, c.cwd, c.implicit); err != nil {
		return session.Session{}, err
	}
	abandon, err := s.workerOpener.expectWorker(ctx, adapter, c.id, in.SystemOwned)
	if err != nil {
		return session.Session{}, err
	}
	t, err := c.startThread(ctx)
	if err != nil {
		return session.Session{}, errors.Join(settled(s.Registry, in, err), abandon())
	}
	if err := c.nameThread(ctx, t); err != nil {
		return session.Session{}, err
	}
	sess := c.session(t, s.opts.NodeID, s.now())
	err = s.InOrder(ctx, func() journal.Unit { return s.opened(c, sess) })
	if in.ProjectID != "" {
		sess.ProjectID = &in.ProjectID
	}
	return sess, errStoredLater(err)
}

// creation is a session that is being created.
type creation struct {
	in      session.Create
	adapter runtime.Adapter
	id, cwd string

	controls              session.Controls
	implicit, nativeTools string
	sources               []runtime.Source
}

// check refuses options that the runtime or the server does not allow, and fills in omitted ones.
func (s *Service) check(ctx context.Context, c *creation) (err error) {
	if c.in.ProjectID != "" {
		if _, err := store.ReadProject(ctx, s.db.Read(), c.in.ProjectID); err != nil {
			return err
		}
	}
	defaults, err := s.Reader.DefaultControls(ctx, s.db.Read())
	if err != nil {
		return err
	}
	if err := c.chooseControls(s.Registry.DefaultsFor(c.adapter.Name(), defaults)); err != nil {
		return settled(s.Registry, c.in, err)
	}
	if len(c.in.DynamicTools) > 0 && !runtime.CapabilitiesOf(c.adapter).DynamicTools {
		return &runtime.UnsupportedError{Runtime: c.adapter.Name(), Operation: runtime.OpTools}
	}
	if c.implicit, err = registry.ChosenSources(c.adapter, c.in.ImplicitSources); err != nil {
		return err
	}
	if c.nativeTools, err = s.Registry.ChosenNativeTools(c.adapter, c.in.NativeTools); err != nil {
		return err
	}
	if c.nativeTools == runtime.NativeToolsOff {
		c.controls.NativeTools = c.nativeTools
	}
	c.cwd, err = s.Checker.CheckFolder(c.in.Cwd)
	return err
}

// chooseControls sets the controls of the new session. Its error is *runtime.ControlError.
func (c *creation) chooseControls(defaults session.Controls) error {
	in := c.in
	if in.SystemOwned {
		defaults.Model = nil // the default is for user chats
	}
	controls := defaults.With(in.Model, in.ApprovalPolicy, in.NetworkAccess, in.FilesystemSandbox)
	if in.NetworkAccess == nil {
		controls = controledit.NetworkOfNew(c.adapter, controls, defaults, in.RuntimeNamed)
	}
	controls.AcceptEdits, controls.NonInteractive = in.AcceptEdits, in.NonInteractive
	c.controls = controls.Complete()
	if err := controledit.Check(c.adapter, c.controls); err != nil {
		return err
	}
	return controledit.CheckNetwork(c.adapter, c.controls, in.RuntimeNamed)
}

// startThread opens the conversation.
func (c *creation) startThread(ctx context.Context) (runtime.Thread, error) {
	t, err := c.adapter.Threads().StartThread(ctx, runtime.StartThread{SessionID: c.id, Cwd: c.cwd, Model: c.controls.ModelName(),
		ApprovalPolicy: c.controls.ApprovalPolicy, Sandbox: c.controls.FilesystemSandbox,
		NetworkAccess: c.controls.NetworkAccess, DynamicTools: c.in.DynamicTools, RawEvents: true, Implicit: c.implicit,
		NativeToolsOff: c.nativeTools == runtime.NativeToolsOff, SystemOwned: c.in.SystemOwned})
	t.NativeID, t.ID = t.Native(), cmp.Or(t.ID, c.id)
	return t, err
}

// title returns the session's title before its first message.
func (c *creation) title() string {
	if c.in.SystemOwned {
		return session.DraftTitle
	}
	return session.NewChatTitle
}

// nameThread also makes the runtime write the conversation to disk: without a name, an unused one would not survive a
// restart.
func (c *creation) nameThread(ctx context.Context, t runtime.Thread) error {
	if librarian, ok := runtime.Has[runtime.Archiver](c.adapter, runtime.OpArchive); ok {
		return librarian.NameThread(ctx, t.Native(), c.title())
	}
	return nil
}

// session returns the new session in its stored form.
func (c *creation) session(t runtime.Thread, nodeID string, now int64) session.Session {
	sess := store.SessionOfThread(c.adapter.Name(), nodeID, t, now)
	sess.Title, sess.Controls, sess.SystemOwned = c.title(), c.controls, c.in.SystemOwned
	sess.Name, sess.TitleSource = "", ""
	sess.Capabilities = encode(runtime.CapabilitiesOf(c.adapter))
	if sess.Cwd == "" {
		sess.Cwd = c.cwd
	}
	// Lists sort by ms; the runtime may report whole seconds.
	sess.UpdatedAt = max(sess.UpdatedAt, now)
	sess.HistoryAt = sess.UpdatedAt // its history begins here
	return sess
}

// opened adds a new session to the live index and stores it. Service.order is held.
func (s *Service) opened(c *creation, sess session.Session) journal.Unit {
	if s.index.Put(sess.ID, live.Session{Runtime: sess.Runtime}) {
		s.adoption.wantRoom()
	}
	s.index.Update(sess.ID, func(t *live.Session) {
		if t.Runtime != sess.Runtime {
			return // the unit refuses the session
		}
		s.index.BindLocked(sess.ID, t, sess.RuntimeSessionID)
		t.Stored, t.SystemOwned = true, sess.SystemOwned
		t.SetTitle(sess.Title)
		if c.in.ProjectID != "" {
			t.SetProject(&c.in.ProjectID)
		}
	})
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := store.InsertSession(ctx, tx, sess, &c.controls); err != nil {
			return nil, err
		}
		started, err := lineage.Insert(ctx, tx, sess.ID, c.in.Child, s.now())
		if err != nil {
			return nil, err
		}
		events := append([]journal.Event{sessionCreated(sess)}, started...)
		if c.in.ProjectID != "" {
			assigned, err := s.Organizer.assignment(sess.ID, &c.in.ProjectID)(ctx, tx)
			if err != nil {
				return nil, err
			}
			events = append(events, assigned...)
		}
		return events, errors.Join(store.StoreTools(ctx, tx, sess.ID, c.in.DynamicTools),
			store.StoreSources(ctx, tx, sess.ID, c.implicit, c.nativeTools, c.sources))
	}
}

// settled adds the settings that chose an unnamed level to the error that refuses the level.
func settled(runtimes *registry.Registry, in session.Create, err error) error {
	var control *runtime.ControlError
	if !errors.As(err, &control) {
		return err
	}
	choose := func(own, ofAll string) []string {
		if setting := runtimes.LevelsOf(control.Runtime).Setting; setting != "" {
			return []string{setting + own, ofAll}
		}
		return []string{ofAll}
	}
	switch {
	case control.Field == "filesystemSandbox" && in.FilesystemSandbox == nil:
		control.Settings = choose("_SANDBOX", "DEFAULT_SANDBOX_MODE")
	case control.Field == "approvalPolicy" && in.ApprovalPolicy == nil:
		control.Settings = choose("_APPROVAL", "DEFAULT_APPROVAL_POLICY")
	case control.Field == "networkAccess" && in.NetworkAccess == nil:
		control.Settings = []string{"DEFAULT_NETWORK_ACCESS"}
	}
	return err
}
