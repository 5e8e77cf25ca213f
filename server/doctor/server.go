package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"harness/internal/lib/trust"
	"harness/internal/platform/auth"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/migrations"
	"harness/server"
	"harness/server/datadir"
)

// database reports whether the store responds, accepts writes, and has a schema that this binary supports.
func (d *doctor) database(ctx context.Context) {
	const name = "database"
	opts := database.Options{URL: d.cfg.DatabaseURL, Path: filepath.Join(d.cfg.DataDir, "harness.db"),
		Marker: migrations.Marker}
	db, err := database.OpenReadOnly(ctx, opts)
	if db != nil {
		defer func() { _ = db.Close() }()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok(name, "SQLite, not there yet; serve makes it")
		return
	case errors.Is(err, database.ErrReadOnly):
		d.broken(name, "Postgres answers, and takes no writes",
			"point DATABASE_URL at the primary, or end the read-only mode")
		return
	case err != nil:
		d.broken(name, err.Error(), "")
		return
	}
	if _, err := os.Stat(opts.Path); d.cfg.DatabaseURL != "" && err == nil {
		d.warn(name, fmt.Sprintf("DATABASE_URL is set, and %s has a store that this server does not show", opts.Path),
			"harness migrate-store postgres moves it there; or unset DATABASE_URL")
	}
	schema, err := migrations.Inspect(ctx, db)
	switch newer := (&migrations.NewerSchemaError{Store: schema.From, Binary: schema.To}); {
	case err != nil:
		d.broken(name, fmt.Sprintf("%s answers, but %s", db.Engine(), err), "restore a backup when the file is damaged")
	case schema.From > schema.To:
		d.broken(name, newer.Error(), "")
	case schema.From < schema.To:
		d.ok(name, "%s answers, schema version %d; serve brings it to %d", db.Engine(), schema.From, schema.To)
	default:
		d.ok(name, "%s answers, schema version %d", db.Engine(), schema.From)
		d.rows(ctx, db)
	}
}

// objects reports whether the object store is usable, if one is configured.
func (d *doctor) objects(ctx context.Context) {
	const name = "object store"
	if d.cfg.S3.Endpoint == "" {
		return
	}
	store, err := server.OpenObjects(d.cfg.S3)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, server.StoreCheck)
		defer cancel()
		err = store.Check(ctx)
	}
	if err != nil {
		d.broken(name, err.Error(), "")
		return
	}
	d.ok(name, "bucket %s answers", d.cfg.S3.Bucket)
}

// listening reports the server's address, its access rules, and whether it is ready.
func (d *doctor) listening(ctx context.Context) {
	const name = "listening"
	if err := auth.CheckBind(d.cfg.Host, d.cfg.AuthToken != "", d.cfg.InsecureNoAuth); err != nil {
		d.broken(name, err.Error(), "")
		return
	}
	message := net.JoinHostPort(d.cfg.Host, strconv.Itoa(d.cfg.Port))
	switch loopback := auth.IsLoopback(d.cfg.Host); {
	case d.cfg.AuthToken != "":
		message += ", for who has HARNESS_AUTH_TOKEN"
	case loopback:
		message += ", for local programs"
	default:
		d.warn(name, message+", without a token: HARNESS_INSECURE_NO_AUTH=true",
			"set HARNESS_AUTH_TOKEN, unless a proxy in front authenticates")
		return
	}
	if d.cfg.Port == 0 {
		d.ok(name, "%s; the port is chosen at each start", message)
		return
	}
	switch err := datadir.CheckReady(ctx, d.cfg); {
	case err == nil:
		d.ok(name, "%s; a server is there and ready", message)
	case errors.Is(err, syscall.ECONNREFUSED):
		d.ok(name, "%s; no server is there now", message)
	default:
		d.broken(name, fmt.Sprintf("%s; %s", message, err), "look into its log; if it is not a harness, set another PORT")
	}
}

// access reports the credentials that programs on this machine need.
func (d *doctor) access(ctx context.Context) {
	const name = "access"
	if d.cfg.AuthToken != "" {
		d.ok(name, "local programs need a token, as all do: HARNESS_AUTH_TOKEN, or what harness token prints")
		return
	}
	if d.cfg.TrustLocal {
		d.warn(name, "local programs need no token, nor do agents that connect to the server: HARNESS_TRUST_LOCAL=true",
			"unset it, and come in with harness open and harness token")
		return
	}
	needed, reason, known := askAccess(ctx, d.cfg)
	switch {
	case !known && d.cfg.RuntimeConfine == "off":
		d.ok(name, "local programs will need a token, since HARNESS_RUNTIME_CONFINE=off lets agents connect to the server: "+
			"harness open and harness token")
	case !known:
		d.ok(name, "local programs will need no token where agents can be kept from connecting to the server; while it runs "+
			"this finding says so")
	case !needed:
		d.ok(name, "local programs need no token: agents are kept from connecting to the server")
	default:
		if token, err := datadir.OwnersToken(d.cfg); err == nil {
			if _, err := token.Read(); err != nil {
				d.warn(name, reason+"; "+err.Error(), "")
				return
			}
		}
		d.ok(name, "%s", reason)
	}
}

// askAccess asks the configured server which access programs on this machine need. The server knows whether agents can
// connect to it.
func askAccess(ctx context.Context, cfg *config.Config) (needed bool, reason string, known bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, datadir.ServerURL(cfg)+"/api/ready", nil)
	if err != nil {
		return false, "", false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, "", false // another finding reports a missing one
	}
	defer func() { _ = response.Body.Close() }()
	var body struct {
		Access *struct {
			TokenNeeded bool
			Reason      string
		}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&body); err != nil || body.Access == nil {
		return false, "", false
	}
	return body.Access.TokenNeeded, body.Access.Reason, true
}

// extensions reports the extensions that wait for consent; it runs none of them in a process.
func (d *doctor) extensions(ctx context.Context) {
	const name = "extensions"
	hashes, problems, err := server.ProcessExtensions(ctx, server.ExtensionRoots(d.cfg, d.workspace), "")
	if err == nil {
		err = server.HashUnprotected(d.cfg, d.workspace, hashes)
	}
	if err != nil {
		d.broken(name, err.Error(), "")
		return
	}
	before := len(d.found)
	for _, problem := range problems {
		d.warn(name, problem.Error(), "")
	}
	for _, place := range slices.Sorted(maps.Keys(hashes)) {
		trusted, err := d.consents.Store.Trusted(place, hashes[place])
		switch {
		case err != nil:
			d.broken(name, err.Error(), "")
			return
		case !trusted && !d.cfg.Trust:
			d.warn(name, place+" is not run: "+trust.Remedy(place, hashes[place]), "")
		}
	}
	if len(d.found) == before {
		d.ok(name, "none waits for consent")
	}
}

// tokens finds token rules that are valid but may be unintended.
func (d *doctor) tokens() {
	const name = "tokens"
	if rules := server.RBACOptions(d.cfg); rules.Warning() != "" {
		d.warn(name, rules.Warning(), "")
		return
	}
	d.ok(name, "those for extension routes: AGENT_EXTENSION_RBAC_MODE=%s", d.cfg.Extensions.RBACMode)
}
