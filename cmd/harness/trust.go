package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"harness/extensions"
	"harness/internal/lib/trust"
	"harness/internal/platform/config"
	"harness/server"
	"harness/server/datadir"
)

// newTrust makes the command by which the operator consents to files that the server would run or obey.
func newTrust() *cobra.Command {
	var list, dry bool
	var revoke string
	cmd := &cobra.Command{
		Use:   "trust [PATH]",
		Short: "Trust a .env file, a process extension (its current hash) or a data directory",
		Long: "Consent to PATH, a .env, a config file it names, or the folder of an extension that runs in a process of " +
			"its own, as it is now;\n" +
			"to a folder of extensions that agents could write; or to a data directory (.data) that this user's harness did not make here.\n" +
			"Without PATH: to all of these that are found from the working directory. An edit takes the consent away, but " +
			"for a data directory's.\n" +
			"Nothing is run.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, out := trust.Open(os.Getenv), cmd.OutOrStdout()
			switch {
			case list:
				all, err := store.All()
				return errors.Join(err, printHashes(out, "", all))
			case revoke != "":
				return revokeTrust(store, revoke, out)
			}
			hashes, dataDir, err := found(cmd.Context(), args, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if dry {
				if dataDir != "" {
					hashes[dataDir] = "the data directory"
				}
				return printHashes(out, "would trust ", hashes)
			}
			if len(hashes) == 0 && dataDir == "" {
				_, err := fmt.Fprintln(out, "nothing here needs consent")
				return err
			}
			if err := store.Grant(hashes); err != nil {
				return err
			}
			if dataDir != "" {
				granted, err := datadir.Grant(store, dataDir)
				if err != nil {
					return err
				}
				maps.Copy(hashes, granted)
			}
			return printHashes(out, "trusted ", hashes)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print what is consented to")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be consented to, and its hash")
	cmd.Flags().StringVar(&revoke, "revoke", "", "take the consent to this path back")
	cmd.MarkFlagsMutuallyExclusive("list", "dry-run", "revoke")
	return cmd
}

func printHashes(out io.Writer, prefix string, hashes map[string]string) error {
	for _, place := range slices.Sorted(maps.Keys(hashes)) {
		if _, err := fmt.Fprintf(out, "%s%s  %s\n", prefix, hashes[place], place); err != nil {
			return err
		}
	}
	return nil
}

func revokeTrust(store *trust.Store, path string, out io.Writer) error {
	find := trust.Place
	if filepath.Base(path) == dataDirName {
		find = datadir.EntryPlace
	}
	place, err := find(path)
	if errors.Is(err, os.ErrNotExist) {
		place, err = filepath.Abs(path) // consent to a deleted file can be revoked, too
	}
	if err != nil {
		return err
	}
	if err := store.Revoke(place); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "revoked", place)
	return err
}

// found returns the files for which a command line requests consent: hash by place, and a data directory, "" for none.
func found(ctx context.Context, args []string, stderr io.Writer) (hashes map[string]string, dataDir string, err error) {
	if len(args) == 0 {
		return foundHere(ctx, stderr)
	}
	info, err := os.Stat(args[0])
	if err != nil {
		return nil, "", &config.UsageError{Err: err}
	}
	if !info.IsDir() {
		if filepath.Base(args[0]) != dotenv && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(args[0])) {
			return nil, "", config.Usagef("%s is no %s, no config file and no folder", args[0], dotenv)
		}
		hashes := map[string]string{}
		return hashes, "", hashFile(args[0], hashes)
	}
	if filepath.Base(args[0]) == dataDirName {
		dataDir, err := filepath.Abs(args[0])
		return map[string]string{}, dataDir, err
	}
	folder, err := trust.Place(args[0])
	if err != nil {
		return nil, "", err
	}
	if holds, err := extensions.Holds(folder); err != nil || holds {
		hash, hashErr := trust.HashFolder(folder, nil) // hash all files: extensions may import files beside them
		return map[string]string{folder: hash}, "", errors.Join(err, hashErr)
	}
	// Search from the parent folder: an extension may import files beside it.
	roots := []extensions.Root{{Type: extensions.ConfiguredRoot, Path: filepath.Dir(folder)}}
	hashes, problems, err := server.ProcessExtensions(ctx, roots, folder)
	if err == nil && len(problems) > 0 {
		err = problems[0]
	}
	return hashes, "", err
}

// The names of files that the server uses if they are in the working directory.
const (
	dotenv      = ".env"
	dataDirName = ".data"
)

// foundHere returns the settings files and the extensions that a server started here finds. It only prints the ones
// that cannot be loaded.
func foundHere(ctx context.Context, stderr io.Writer) (hashes map[string]string, dataDir string, err error) {
	workspace, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	// Read the settings before consent, because this command runs nothing: they may name a config file and extension
	// folders.
	cfg, err := config.FromProcess(nil, nil)
	if err != nil {
		return nil, "", err
	}
	hashes, problems, err := server.ProcessExtensions(ctx, server.ExtensionRoots(cfg, workspace), "")
	if err != nil {
		return nil, "", err
	}
	for _, problem := range problems {
		if _, err := fmt.Fprintln(stderr, "passed over:", problem); err != nil {
			return nil, "", err
		}
	}
	if err := server.HashUnprotected(cfg, workspace, hashes); err != nil {
		return nil, "", err
	}
	for _, path := range cfg.Files() {
		err := hashFile(path, hashes)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, config.ErrNoFile) || errors.Is(err, config.ErrTooLong) {
			continue // the server ignores such a file
		}
		if err != nil {
			return nil, "", err
		}
	}
	if state, err := datadir.NewConsents(false).Check(cfg); err != nil {
		return nil, "", err
	} else if state == datadir.ClaimForeign {
		dataDir = cfg.DataDir
	}
	return hashes, dataDir, nil
}

func hashFile(path string, hashes map[string]string) error {
	place, err := trust.Place(path)
	if err != nil {
		return err
	}
	content, err := config.ReadFile(place)
	if err == nil {
		hashes[place] = trust.HashBytes(content)
	}
	return err
}
