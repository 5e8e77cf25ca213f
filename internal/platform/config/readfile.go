package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFile is how long a file of settings may be, in bytes.
const maxFile = 1 << 20

// Why a file is no file of settings: a .env is then passed over.
var (
	ErrNoFile  = errors.New("it is no regular file")
	ErrTooLong = fmt.Errorf("it is longer than %d bytes", maxFile)
)

// ReadFile reads a file of settings. A pipe is not waited for, and a file that is too long is not read.
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
