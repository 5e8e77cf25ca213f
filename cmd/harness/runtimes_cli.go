package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/internal/runtime/process/shim"
	"harness/server"
	"harness/server/datadir"
)

// stopLimit bounds the end of one runtime: its grace period and the cleanup.
const stopLimit = 15 * time.Second

func newRuntimes() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the runtimes of this data directory, running or with something left to read",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := findRuntimes(cmd)
			if err != nil {
				return err
			}
			return listRuntimes(cmd, found)
		},
	}
	config.AddFlags(list.Flags())
	stop := &cobra.Command{
		Use:   "stop [GENERATION...]",
		Short: "End runtimes and everything they started; without a name all of this data directory",
		Long: "End runtimes and everything they started; without a name all of this data directory.\n\nA turn that runs " +
			"in one becomes interrupted: " +
			"at once when a server is attached, else when the next one starts.",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := findRuntimes(cmd)
			if err != nil {
				return err
			}
			return stopRuntimes(cmd, found, args)
		},
	}
	config.AddFlags(stop.Flags())
	return newGroup("runtimes", "List and end runtimes that outlive servers", list, stop)
}

func findRuntimes(cmd *cobra.Command) ([]shim.Found, error) {
	cfg, err := datadir.LoadConfig(cmd.Flags())
	if err != nil {
		return nil, err
	}
	if err := datadir.NewConsents(cfg.Trust).CheckClaim(cfg); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, config.Usagef("there is no data directory %s: name the server's with --data-dir, or run this where the server runs",
			path)
	}
	return shim.Discover(server.RunDir(path))
}

func listRuntimes(cmd *cobra.Command, found []shim.Found) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "GENERATION\tRUNTIME\tSTATE\tPID\tSHIM\tVERSION\tAGE\tSPOOLED\tUNACKED")
	for _, f := range found {
		state, text := f.State, "ended"
		if f.Alive {
			text = "unreachable"
			if now, err := shim.Status(cmd.Context(), f); err == nil {
				state, text = now, "detached"
				if now.Attached {
					text = "attached"
				}
			}
		}
		age := time.Since(time.UnixMilli(state.StartedAt)).Round(time.Second)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d\n", f.Generation, state.Runtime, text,
			state.RuntimePID, state.PID, state.Version, age, state.End-state.Oldest, state.End-state.Acked)
	}
	return table.Flush()
}

func stopRuntimes(cmd *cobra.Command, found []shim.Found, names []string) error {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var errs []error
	for _, f := range found {
		if len(names) > 0 && !wanted[f.Generation] {
			continue
		}
		delete(wanted, f.Generation)
		if !f.Alive {
			continue
		}
		if err := stopRuntime(cmd.Context(), f); err != nil {
			errs = append(errs, err)
			continue
		}
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "stopped %s (%s, pid %d)\n", f.Generation, f.State.Runtime, f.State.RuntimePID)
	}
	for name := range wanted {
		errs = append(errs, fmt.Errorf("there is no runtime %s; harness runtimes list shows them", name))
	}
	return errors.Join(errs...)
}

// stopRuntime first asks the shim; if the shim does not answer, stopRuntime kills it by its process id.
func stopRuntime(ctx context.Context, f shim.Found) error {
	if _, err := shim.Stop(ctx, f, stopLimit); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	_, _, err := shim.Reap(ctx, f)
	return err
}
