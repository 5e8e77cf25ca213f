package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/services/audit"
	"harness/migrations"
	"harness/server"
	"harness/server/datadir"
)

// newAudit shows the audit log. It reads the database directly, whether or not a server runs.
func newAudit() *cobra.Command {
	return newGroup("audit", "Verify and export the audit log", newAuditVerify(), newAuditExport(),
		newAuditCheckpoint())
}

// reading makes a command that reads the configured database and changes nothing.
func reading(cmd *cobra.Command,
	read func(cmd *cobra.Command, cfg *config.Config, db *database.DB) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg, err := datadir.LoadConfig(cmd.Flags())
		if err != nil {
			return err
		}
		path := filepath.Join(cfg.DataDir, "harness.db")
		if _, err := os.Stat(path); cfg.DatabaseURL == "" && err != nil {
			return fmt.Errorf("there is no database to read: %w", err) // opening it would create one
		}
		db, err := database.Open(cmd.Context(), database.Options{URL: cfg.DatabaseURL, Path: path, Marker: migrations.Marker,
			Synchronous: cfg.SQLiteSynchronous})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		return read(cmd, cfg, db)
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

func newAuditVerify() *cobra.Command {
	var keys []string
	var kept string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the audit log: no row changed or removed, no tail cut off",
		Long: "Verify the audit log: no row changed or removed, no tail cut off.\n\nEvery server signs how " +
			"the log stands with a key of its own (DATA_DIR/audit.key, its public half audit.key.pub). Who can write the\n" +
			"database could remove the last rows with their checkpoints: --checkpoint compares with one that was kept " +
			"elsewhere (harness audit checkpoint).",
	}
	cmd.Flags().StringArrayVar(&keys, "key", nil,
		"public key of a server that signed (default: DATA_DIR/audit.key.pub); of several servers one each")
	cmd.Flags().StringVar(&kept, "checkpoint", "", "file with a checkpoint that was kept elsewhere")
	return reading(cmd, func(cmd *cobra.Command, cfg *config.Config, db *database.DB) error {
		if len(keys) == 0 {
			keys = []string{filepath.Join(cfg.DataDir, server.AuditKeyFile+".pub")}
		}
		var known []note.Verifier
		for _, path := range keys {
			key, err := audit.ReadPublic(path)
			if err != nil {
				return err
			}
			known = append(known, key)
		}
		checkpoint := ""
		if kept != "" {
			text, err := os.ReadFile(kept)
			if err != nil {
				return err
			}
			checkpoint = string(text)
		}
		verdict, err := audit.VerifyAgainst(cmd.Context(), db.Read(), note.VerifierList(known...), checkpoint)
		if err != nil {
			return err
		}
		if len(verdict.Faults) > 0 {
			return fmt.Errorf("the audit log is not whole: %s", strings.Join(verdict.Faults, "; "))
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "the audit log is whole: %d rows, signed up to row %d (%d checkpoints)\n",
			verdict.Rows, verdict.Signed, verdict.Checkpoints)
		return err
	})
}

func newAuditExport() *cobra.Command {
	var session string
	cmd := &cobra.Command{Use: "export", Short: "Export the audit log as JSON lines"}
	cmd.Flags().StringVar(&session, "session", "", "only what is of this session")
	return reading(cmd, func(cmd *cobra.Command, _ *config.Config, db *database.DB) error {
		out := json.NewEncoder(cmd.OutOrStdout())
		out.SetEscapeHTML(false)
		return audit.Each(cmd.Context(), db.Read(), session, func(row audit.Row) error { return out.Encode(row) })
	})
}

func newAuditCheckpoint() *cobra.Command {
	cmd := &cobra.Command{Use: "checkpoint", Short: "Print the last signed state of the audit log, to store elsewhere"}
	return reading(cmd, func(cmd *cobra.Command, _ *config.Config, db *database.DB) error {
		signed, err := audit.Latest(cmd.Context(), db.Read())
		if err == nil && signed == "" {
			return errors.New("nothing is signed yet; a server signs within a minute of what happens")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.OutOrStdout(), signed)
		return err
	})
}
