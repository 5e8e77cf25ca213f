package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aead.dev/minisign"
)

const (
	checksumsFile = "checksums.txt"
	signatureFile = "checksums.txt.minisig"
	// passwordVariable names the variable with the password of the key's file.
	passwordVariable = "HARNESS_RELEASE_KEY_PASSWORD" //nolint:gosec // the name of a variable
)

// readKey reads the private key that signs the release. The release reads it first, before minutes of building.
func readKey(file string, unsigned bool) (*minisign.PrivateKey, error) {
	switch {
	case file == "" && unsigned:
		return nil, nil //nolint:nilnil // no key is wanted
	case file == "":
		return nil, errors.New("no key signs this release: name a minisign key with KEY=FILE, or make one for yourself only with " +
			"RELEASE_FLAGS=-unsigned")
	case unsigned:
		return nil, errors.New("-key and -unsigned exclude each other")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of the release: %w", err)
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		password, is := os.LookupEnv(passwordVariable)
		if !is {
			return nil, fmt.Errorf("the key %s has a password: set %s", file, passwordVariable)
		}
		if key, err = minisign.DecryptKey(password, text); err != nil {
			return nil, fmt.Errorf("decrypt the key %s with %s: %w", file, passwordVariable, err)
		}
		return &key, nil
	}
	if err := key.UnmarshalText(text); err != nil {
		return nil, fmt.Errorf("%s is no minisign key: %w", file, err)
	}
	return &key, nil
}

// sign signs the checksums. The comment names version and date, so the same release has the same signature.
func (r *release) sign() error {
	if r.Key == nil {
		fmt.Fprintln(os.Stderr, "release: UNSIGNED, for your own use only")
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.Out, checksumsFile))
	if err != nil {
		return err
	}
	comment := fmt.Sprintf("harness %s, %s", r.Version, r.Date.Format("2006-01-02T15:04:05Z"))
	signature := minisign.SignWithComments(*r.Key, text, comment, "signature of "+checksumsFile)
	return publish(filepath.Join(r.Out, signatureFile), signature)
}
