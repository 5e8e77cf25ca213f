package workspace

import (
	"fmt"
	"os"
)

// placeOf returns the path of an open file.
func placeOf(file *os.File) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
}
