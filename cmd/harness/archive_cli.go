package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal/archive"
	"harness/server"
	"harness/server/datadir"
)

// newArchiveCommand shows the events that are stored outside the database. It contacts no server and no database.
func newArchiveCommand() *cobra.Command {
	return newGroup("archive", "List, verify and read archived events (HARNESS_ARCHIVE)",
		newArchiveList(), newArchiveVerify(), newArchiveRead())
}

// archiving makes a command that reads the configured archive.
func archiving(cmd *cobra.Command, read func(cmd *cobra.Command, files archive.Files, all []archive.Range) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := datadir.LoadConfig(cmd.Flags())
		if err != nil {
			return err
		}
		if cfg.Archive == "" {
			return config.Usagef("there is no archive: set HARNESS_ARCHIVE to that of the server")
		}
		files, err := server.OpenArchive(cfg)
		if err != nil {
			return err
		}
		all, err := archive.List(cmd.Context(), files)
		if err != nil {
			return err
		}
		return read(cmd, files, all)
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

func newArchiveList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{Use: "list", Short: "List the ranges of events in the archive"}
	addJSON(cmd, &asJSON, "print JSON")
	return archiving(cmd, func(cmd *cobra.Command, _ archive.Files, all []archive.Range) error {
		if asJSON {
			return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "FROM\tTO\tEVENTS\tOBJECT")
		for _, r := range all {
			_, _ = fmt.Fprintf(table, "%d\t%d\t%d\t%s\n", r.From, r.To, r.To-r.From+1, r.Name())
		}
		return table.Flush()
	})
}

func newArchiveVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify every object of the archive, and that no range is missing",
		Long: "Verify every object of the archive, and that no range is missing.\n\nEvents that were pruned before " +
			"the archive existed are not missing. Two objects with one range are fine: the server removes one of them.",
	}
	return archiving(cmd, func(cmd *cobra.Command, files archive.Files, all []archive.Range) (err error) {
		next := int64(0)
		for _, r := range all {
			if next > 0 && r.From > next {
				err = errors.Join(err, fmt.Errorf("events %d to %d are in no object", next, r.From-1))
			}
			next = max(next, r.To+1)
			if damaged := archive.Read(cmd.Context(), files, r, func(*archive.Line) error { return nil }); damaged != nil {
				err = errors.Join(err, damaged)
			}
		}
		if err == nil {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d objects are whole; the last event is %d\n", len(all), max(next-1, 0))
		}
		return err
	})
}

func newArchiveRead() *cobra.Command {
	var session string
	var from, to int64
	cmd := &cobra.Command{
		Use:   "read",
		Short: "Print archived events as lines of JSON, in order, each once",
		Long: "Print archived events as lines of JSON, in order, each once.\n\nAn object is compared with its SHA-256 when its last line was " +
			"read: lines that were printed before the command fails may not be what was stored.",
	}
	cmd.Flags().StringVar(&session, "session", "", "events of this session only")
	cmd.Flags().Int64Var(&from, "from", 1, "first position")
	cmd.Flags().Int64Var(&to, "to", 0, "last position (default: the last one)")
	return archiving(cmd, func(cmd *cobra.Command, files archive.Files, all []archive.Range) (err error) {
		out := bufio.NewWriter(cmd.OutOrStdout())
		defer func() { err = errors.Join(err, out.Flush()) }()
		next, last := from, cmp.Or(to, math.MaxInt64)
		for _, r := range all {
			if r.To < next || r.From > last {
				continue
			}
			if err := archive.Read(cmd.Context(), files, r, func(line *archive.Line) error {
				record := &line.Record
				if record.Pos < next || record.Pos > last {
					return nil
				}
				next = record.Pos + 1
				if session != "" && record.SessionID != database.EncodeText(session) {
					return nil
				}
				_, err := line.WriteTo(out)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
