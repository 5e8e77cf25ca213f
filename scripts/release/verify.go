package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
)

// verify checks a release: release verify -dir dist -public-key harness.pub.
func verify(args []string) error {
	flags := flag.NewFlagSet("release verify", flag.ContinueOnError)
	dir := flags.String("dir", "dist", "folder of the release")
	public := flags.String("public-key", "", "file of the minisign key that signed it")
	unsigned := flags.Bool("unsigned", false, "check no signature: of a release for your own use")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !*unsigned {
		if err := verifySignature(*dir, *public); err != nil {
			return err
		}
	}
	sums, err := verifyChecksums(*dir)
	if err != nil {
		return err
	}
	if err := errors.Join(verifyMaterials(*dir, sums), verifyProvenance(*dir, sums)); err != nil {
		return err
	}
	signed := "signature, "
	if *unsigned {
		signed = "NO SIGNATURE; "
	}
	fmt.Fprintf(os.Stderr, "release: %s is sound: %schecksums of %d files, bills of materials, provenance\n", *dir, signed, len(sums))
	return nil
}

func verifySignature(dir, public string) error {
	if public == "" {
		return errors.New("name the releaser's public key with PUBLIC_KEY=FILE; RELEASE_FLAGS=-unsigned checks no signature")
	}
	key, err := minisign.PublicKeyFromFile(public)
	if err != nil {
		return fmt.Errorf("read the public key %s: %w", public, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, checksumsFile))
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(filepath.Join(dir, signatureFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the release is not signed: %s has no %s", dir, signatureFile)
	}
	if err != nil {
		return err
	}
	if !minisign.Verify(key, text, signature) {
		return fmt.Errorf("%s is no signature of %s with %s: do not use these files", signatureFile, checksumsFile, public)
	}
	return nil
}

// verifyChecksums checks that the folder has exactly the listed files, with their hashes. It returns hashes by name.
func verifyChecksums(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, checksumsFile))
	if err != nil {
		return nil, err
	}
	sums, r := map[string]string{}, &release{Out: dir}
	for line := range strings.Lines(string(text)) {
		want, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		if !found || name != filepath.Base(name) {
			return nil, fmt.Errorf("%s has the line %q", checksumsFile, line)
		}
		hash, err := r.sum(name)
		if err != nil {
			return nil, err
		}
		if hash != want {
			return nil, fmt.Errorf("%s is not the file that was released: its hash is %s, not %s", name, hash, want)
		}
		sums[name] = hash
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if sums[name] == "" && !slices.Contains([]string{checksumsFile, signatureFile, siteFolder}, name) {
			return nil, fmt.Errorf("%s is not part of the release: %s does not list it", name, checksumsFile)
		}
	}
	return sums, nil
}

// verifyMaterials checks that each archive has a bill of materials of its version and platform.
func verifyMaterials(dir string, sums map[string]string) error {
	var broken error
	archives := 0
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		base, is := strings.CutSuffix(name, ".tar.gz")
		if !is {
			continue
		}
		archives++
		if sums[base+".cdx.json"] == "" {
			broken = errors.Join(broken, fmt.Errorf("%s has no bill of materials", name))
			continue
		}
		var bill struct {
			BOMFormat  string `json:"bomFormat"`
			Components []component
			Metadata   struct{ Component component }
		}
		text, err := os.ReadFile(filepath.Join(dir, base+".cdx.json"))
		if err == nil {
			err = json.Unmarshal(text, &bill)
		}
		if err != nil || bill.BOMFormat != "CycloneDX" || len(bill.Components) == 0 ||
			!strings.HasPrefix(base, "harness_"+bill.Metadata.Component.Version+"_") {
			broken = errors.Join(broken, fmt.Errorf("%s.cdx.json is no bill of materials of %s: %w", base, name, err))
		}
	}
	if archives == 0 {
		broken = errors.Join(broken, errors.New("there is no archive"))
	}
	return broken
}

// verifyProvenance checks that there is one provenance and that it names every other file with its hash.
func verifyProvenance(dir string, sums map[string]string) error {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(name string) bool { return !strings.HasSuffix(name, ".provenance.json") })
	if len(names) != 1 {
		return fmt.Errorf("there are %d provenance files, not one", len(names))
	}
	text, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		return err
	}
	var s statement
	if err := json.Unmarshal(text, &s); err != nil || s.Type != statementType || s.PredicateType != predicateType {
		return fmt.Errorf("%s is no provenance: %w", names[0], err)
	}
	proven := map[string]string{names[0]: sums[names[0]]}
	for _, one := range s.Subject {
		proven[one.Name] = one.Digest["sha256"]
	}
	if !maps.Equal(proven, sums) {
		return fmt.Errorf("%s does not name the files of %s", names[0], checksumsFile)
	}
	return nil
}
