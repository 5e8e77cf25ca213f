package codex

import (
	"os"
	"path/filepath"
)

// HasAuthFile tells whether codex would find a stored login. home is CODEX_HOME, "" for codex's own default.
func HasAuthFile(home string) bool {
	if home == "" {
		home = os.Getenv("CODEX_HOME")
	}
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return false
		}
		home = filepath.Join(user, ".codex")
	}
	info, err := os.Stat(filepath.Join(home, "auth.json"))
	return err == nil && info.Size() > 0
}
