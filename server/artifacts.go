package server

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/content/artifact"
	"harness/internal/lib/objectstore"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/telemetry"
	"harness/internal/services/tasks"
)

// StoreCheck bounds the check of the object store at startup and in `harness doctor`.
const StoreCheck = 5 * time.Second

// objectBytes is the size from which content is stored as an object; the database is faster for shorter content.
const objectBytes = 1 << 20

// openArtifacts opens the store for content that is too long for an event or stored separately. If the object store is
// unavailable now, openArtifacts logs that; the server tries the store at each use.
func (s *Server) openArtifacts(ctx context.Context) error {
	options := artifact.Options{DB: s.db, Journal: s.journal, Now: s.now, Dir: filepath.Join(s.dir.Path, "artifacts"),
		ObjectBytes: objectBytes,
		Redact:      s.redactArtifact}
	if s.cfg.S3.Endpoint != "" && s.db.Engine() == database.Postgres {
		objects, err := OpenObjects(s.cfg.S3)
		if err != nil {
			return err
		}
		options.Objects = objects
		ctx, cancel := context.WithTimeout(ctx, StoreCheck)
		defer cancel()
		if err := objects.Check(ctx); err != nil {
			s.log.Error().Err(err).Msg("object store unavailable: long artifacts cannot be stored or read")
		}
	}
	s.artifacts = artifact.New(options)
	return nil
}

// redactArtifact removes the server's secrets from the content of an artifact.
func (s *Server) redactArtifact(content []byte) []byte {
	return []byte(telemetry.NewRedactor(s.cfg.Secrets()...).String(string(content)))
}

// OpenObjects opens the configured store of objects.
func OpenObjects(set config.S3) (*objectstore.Store, error) {
	return objectstore.Open(objectstore.Options{Endpoint: set.Endpoint, Region: set.Region, Bucket: set.Bucket, Prefix: set.Prefix,
		AccessKeyID: set.AccessKeyID, SecretAccessKey: set.SecretAccessKey})
}

// keep implements manager.Options.Keep.
func (s *Server) keep(ctx context.Context, sessionID, name, contentType string, content []byte) (json.RawMessage,
	error) {
	ref, err := s.artifacts.Put(ctx, sessionID, name, contentType, content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(ref)
}

// givenTools returns the tools that this server gives to agents, as they appear in a model's input.
func (s *Server) givenTools() (given []tasks.Tool) {
	manifest := s.runtimes.tools.manifest()
	if manifest == nil {
		return nil
	}
	for _, one := range manifest.Tools {
		given = append(given, tasks.Tool{Name: one.Name, SchemaHash: one.SchemaHash, OutputSchemaHash: one.OutputSchemaHash})
	}
	return given
}

// itemImages implements manager.Images.
type itemImages struct {
	store *artifact.Store
	log   zerolog.Logger
}

// KeepImage implements manager.Images. It drops an image that is too long or cannot be written: the session continues
// without it.
func (i itemImages) KeepImage(ctx context.Context, tx database.Tx, sessionID string, content []byte) (string, error) {
	id, err := i.store.KeepImage(ctx, tx, sessionID, content)
	var tooLarge *artifact.TooLargeError
	var unwritten *artifact.BytesError
	if errors.As(err, &tooLarge) || errors.As(err, &unwritten) {
		i.log.Warn().Err(err).Str("session", sessionID).Msg("image of a transcript not stored")
		return "", nil
	}
	return id, err
}
