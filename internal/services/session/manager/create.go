package manager

import (
	"cmp"
	"context"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
)

// Create opens a conversation in a runtime and stores it with its controls. The reply says Materialized false, as
// clients expect of a session nobody has written to. *ElsewhereError, *UnknownRuntimeError, *LimitError, *FolderError, and
// runtime.ErrUnavailable with the cause and the remedy.
func (s *Service) Create(ctx context.Context, in session.Create) (session.Session, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return session.Session{}, err // before the runtime is told anything
	}
	if err := s.checkLease(); err != nil {
		return session.Session{}, err
	}
	if !in.SystemOwned {
		if err := s.CheckNew(); err != nil {
			return session.Session{}, err
		}
	}
	adapter, err := s.Chosen(in.Runtime)
	if err != nil {
		return session.Session{}, err
	}
	leave, err := s.index.Limits.Reserve(adapter.Name(), "")
	if err != nil {
		return session.Session{}, err
	}
	defer leave()
	if in.ProjectID != "" {
		if _, err := store.ReadProject(ctx, s.db.Read(), in.ProjectID); err != nil {
			return session.Session{}, err
		}
	}
	defaults, err := s.defaults(ctx, s.db.Read())
	if err != nil {
		return session.Session{}, err
	}
	defaults = s.DefaultsFor(adapter.Name(), defaults)
	if in.SystemOwned {
		defaults.Model = nil // the default is people's choice for their chats
	}
	controls := defaults.With(in.Model, in.ApprovalPolicy, in.NetworkAccess, in.FilesystemSandbox)
	if in.NetworkAccess == nil {
		controls = networkOfNew(adapter, controls, defaults, in.RuntimeNamed)
	}
	controls.AcceptEdits, controls.NonInteractive = in.AcceptEdits, in.NonInteractive
	controls = controls.Complete()
	err = checkControls(adapter, controls)
	if err == nil {
		err = checkNetwork(adapter, controls, in.RuntimeNamed)
	}
	if err != nil {
		return session.Session{}, s.settled(in, err)
	}
	if len(in.DynamicTools) > 0 && !runtime.CapabilitiesOf(adapter).DynamicTools {
		return session.Session{}, &runtime.UnsupportedError{Runtime: adapter.Name(), Operation: runtime.OpTools}
	}
	implicit, err := registry.ChosenSources(adapter, in.ImplicitSources)
	if err != nil {
		return session.Session{}, err
	}
	nativeTools, err := s.ChosenNativeTools(adapter, in.NativeTools)
	if err != nil {
		return session.Session{}, err
	}
	if nativeTools == runtime.NativeToolsOff {
		controls.NativeTools = nativeTools
	}
	cwd, err := s.CheckFolder(in.Cwd)
	if err != nil {
		return session.Session{}, err
	}
	// A conversation that exists must not be left without a row by a caller who goes away. The calls have deadlines of
	// their own.
	ctx = context.WithoutCancel(ctx)
	id := cmp.Or(in.ID, session.NewID())
	sources, err := registry.SourcesAt(adapter, id, cwd, implicit)
	if err != nil {
		return session.Session{}, err
	}
	abandon, err := s.expectWorker(ctx, adapter, id, in.SystemOwned)
	if err != nil {
		return session.Session{}, err
	}
	t, err := adapter.StartThread(ctx, runtime.StartThread{SessionID: id, Cwd: cwd, Model: controls.ModelName(),
		ApprovalPolicy: controls.ApprovalPolicy, Sandbox: controls.FilesystemSandbox, NetworkAccess: controls.NetworkAccess,
		DynamicTools: in.DynamicTools, RawEvents: true, Implicit: implicit,
		NativeToolsOff: nativeTools == runtime.NativeToolsOff, SystemOwned: in.SystemOwned})
	if err != nil {
		return session.Session{}, errors.Join(s.settled(in, err), abandon())
	}
	t.NativeID, t.ID = t.Native(), cmp.Or(t.ID, id)
	// Naming also makes the runtime write it to disk: an unnamed, unused conversation would not survive a restart.
	title := session.NewChatTitle
	if in.SystemOwned {
		title = session.DraftTitle
	}
	if librarian, ok := runtime.Has[runtime.Librarian](adapter, runtime.OpLibrary); ok {
		if err := librarian.NameThread(ctx, t.Native(), title); err != nil {
			return session.Session{}, err
		}
	}
	session := store.SessionOfThread(adapter.Name(), s.opts.NodeID, t, s.now())
	session.Title, session.Controls, session.SystemOwned = title, controls, in.SystemOwned
	session.Capabilities = encode(runtime.CapabilitiesOf(adapter))
	if session.Cwd == "" {
		session.Cwd = cwd
	}
	// Order in the list is by ms; the runtime may count in seconds.
	session.UpdatedAt = max(session.UpdatedAt, s.now())
	session.HistoryAt = session.UpdatedAt // it begins here
	err = s.inOrder(ctx, func() journal.Unit {
		if s.index.Put(session.ID, live.Session{Runtime: session.Runtime}) {
			s.adoption.wantRoom()
		}
		s.index.Update(session.ID, func(t *live.Session) {
			if t.Runtime != session.Runtime {
				return // the unit refuses it
			}
			s.index.BindLocked(session.ID, t, session.RuntimeSessionID)
			t.Stored, t.SystemOwned = true, session.SystemOwned
			t.SetTitle(session.Title)
			if in.ProjectID != "" {
				t.SetProject(&in.ProjectID)
			}
		})
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if err := store.InsertSession(ctx, tx, session, &controls); err != nil {
				return nil, err
			}
			events := []journal.Event{sessionCreated(session)}
			if in.ProjectID != "" {
				assigned, err := s.assignment(session.ID, &in.ProjectID)(ctx, tx)
				if err != nil {
					return nil, err
				}
				events = append(events, assigned...)
			}
			return events, errors.Join(store.StoreTools(ctx, tx, session.ID, in.DynamicTools),
				store.StoreSources(ctx, tx, session.ID, implicit, nativeTools, sources))
		}
	})
	if in.ProjectID != "" {
		session.ProjectID = &in.ProjectID
	}
	return session, errStoredLater(err)
}

// settled adds to the refusal of a level that nobody named which settings chose it.
func (s *Service) settled(in session.Create, err error) error {
	var control *runtime.ControlError
	if !errors.As(err, &control) {
		return err
	}
	choose := func(own, ofAll string) []string {
		if setting := s.LevelsOf(control.Runtime).Setting; setting != "" {
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
