//go:build !linux && !darwin

package workspace

import (
	"errors"
	"os"
)

// placeOf cannot be told here; what has to be hidden is then not given at all.
func placeOf(*os.File) (string, error) {
	return "", errors.New("this system does not tell where an open file is")
}
