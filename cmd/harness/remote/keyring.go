package remote

import (
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// keyringService is the service name for tokens in the system's keyring: Secret Service on Linux, Keychain on macOS.
const keyringService = "harness"

// keyringRemedy is for systems without a working keyring: servers, containers, sessions over ssh.
const keyringRemedy = "unlock the keyring of your session, or keep the token in a file: harness profiles set NAME --token FILE"

// account returns the keyring account of a profile's token; another server with the same profile name has a different
// account.
func (p profile) account(name string) string { return name + " " + p.URL }

func keepInKeyring(of profile, name, token string) error {
	if err := keyring.Set(keyringService, of.account(name), token); err != nil {
		return fmt.Errorf("the system's keyring refused the token: %w (%s)", err, keyringRemedy)
	}
	return nil
}

func fromKeyring(of profile, name string) (string, error) {
	token, err := keyring.Get(keyringService, of.account(name))
	if errors.Is(err, keyring.ErrNotFound) {
		return "", usage("the system's keyring has no token for the profile %s: harness profiles set %s --token - --keyring",
			name, name)
	}
	if err != nil {
		return "", usage("cannot read the token of the profile %s from the system's keyring: %w (%s)", name, err,
			keyringRemedy)
	}
	return token, nil
}

func forgetInKeyring(of profile, name string) error {
	err := keyring.Delete(keyringService, of.account(name))
	if err == nil || errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("cannot remove the token of the profile %s from the system's keyring: %w", name, err)
}
