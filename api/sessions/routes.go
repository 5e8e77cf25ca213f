// Package sessions serves the REST routes about sessions: their lifecycle, messages and turns, transcripts, requests
// and controls.
//
// It owns the input and output of these routes. It must never know how a response is written or how access is
// checked.
package sessions

import (
	"slices"

	"harness/api/compress"
	"harness/api/rest"
	"harness/internal/content/artifact"
	"harness/internal/lib/thumbnail"
	"harness/internal/operations"
)

// Options are the dependencies of the routes. Operations, Long and Coder are required.
type Options struct {
	Operations *operations.Service
	Long       *LongAnswers
	Coder      *compress.Coder
	// Artifacts has the images of transcripts. If nil, there are no images.
	Artifacts *artifact.Store
	// Settings are the settings at the start of the server.
	Settings []Setting
	// FailureOf returns the response to an error about a session.
	FailureOf func(err error, sessionID string) rest.Failure
}

// Routes returns the routes of this package. Each subject gets only the operations it uses.
func Routes(o Options) []rest.Route {
	ops := o.Operations
	all := &sessions{opener: ops.Opener, starter: ops.Starter, reader: ops.Reader, editor: ops.Editor, long: o.Long, coder: o.Coder,
		failureOf: o.FailureOf}
	said := &messages{turns: ops.Turns, queue: ops.Queue}
	shown := &transcripts{access: ops.Access, editor: ops.Editor, artifacts: o.Artifacts, thumbnails: thumbnail.New(400, 224)}
	asked := &requests{decider: ops.Decider}
	talks := &threads{threads: ops.Threads, turns: ops.Turns}
	levels := &controls{editor: ops.ControlEditor, settings: o.Settings}
	kept := &uploads{uploader: ops.Uploader}
	drafts := &suggestions{suggestions: ops.Suggestions}
	differs := &changes{changes: ops.Changes}
	back := &rewinds{rewinds: ops.Rewinds}
	apart := &worktrees{worktrees: ops.Worktrees}
	shownFiles := &files{files: ops.Files}
	places := &folders{folders: ops.Folders}
	return slices.Concat(all.sessionRoutes(), said.messageRoutes(), shown.transcriptRoutes(), asked.requestRoutes(),
		talks.threadRoutes(), levels.controlRoutes(), levels.settingsRoutes(), said.queuedRoutes(), kept.uploadRoutes(),
		shown.imageRoutes(), drafts.suggestionRoutes(), levels.serverSettingsRoutes(),
		places.folderRoutes(), differs.changeRoutes(), back.rewindRoutes(), shownFiles.fileRoutes(), apart.worktreeRoutes())
}

type sessions struct {
	opener    *operations.Opener
	starter   *operations.Starter
	reader    *operations.Reader
	editor    *operations.Editor
	long      *LongAnswers
	coder     *compress.Coder
	failureOf func(err error, sessionID string) rest.Failure
}

type messages struct {
	turns *operations.Turns
	queue *operations.Queue
}

type transcripts struct {
	access     *operations.Access
	editor     *operations.Editor
	artifacts  *artifact.Store
	thumbnails *thumbnail.Maker
}

type requests struct{ decider *operations.Decider }

type threads struct {
	threads *operations.Threads
	turns   *operations.Turns
}

type controls struct {
	editor   *operations.ControlEditor
	settings []Setting
}

type uploads struct{ uploader *operations.Uploader }

type folders struct{ folders *operations.Folders }

type suggestions struct{ suggestions *operations.Suggestions }
