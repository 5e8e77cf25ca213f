package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFile is the maximum size of a settings file, in bytes.
const maxFile = 1 << 20

// The reasons why a file is not a settings file; such a .env is ignored.
var (
	ErrNoFile  = errors.New("it is no regular file")
	ErrTooLong = fmt.Errorf("it is longer than %d bytes", maxFile)
)

// ReadFile reads a settings file. It does not wait for a pipe, and does not read a file that is too long.
func ReadFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) { // a socket
			err = ErrNoFile
		}
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNoFile
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = ErrTooLong
	}
	return text, err
}
