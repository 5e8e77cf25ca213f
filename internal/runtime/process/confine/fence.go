package confine

import (
	"fmt"

	"harness/internal/runtime/process/doors"
)

// Fence names TCP ports that a program, and all that it starts, cannot connect to: on no address, by no kind of socket.
// The call fails with EACCES, or with the error of a kernel that lacks the feature by which it was tried.
//
// It holds for sockets that the program connects itself. A socket that a program outside of the fence has connected and
// hands over works, and a program outside can be asked to connect, where the program may talk to one.
type Fence struct {
	// Ports are the ports.
	Ports []uint16 `json:"ports,omitempty"`
	// Doors are folders of registered ports (package doors). The stage reads them at the moment it starts the program, so
	// that ports are fenced that were registered after the plan was made.
	Doors []string `json:"doors,omitempty"`
}

// ports are all that are fenced at this moment. A folder that cannot be read is an error: what is registered there would
// stay open.
func (f *Fence) ports() (map[uint16]bool, error) {
	fenced := map[uint16]bool{}
	if f == nil {
		return fenced, nil
	}
	for _, port := range f.Ports {
		fenced[port] = true
	}
	for _, folder := range f.Doors {
		registered, err := doors.Read(folder)
		if err != nil {
			return nil, fmt.Errorf("read the ports of servers on this machine: %w", err)
		}
		for _, port := range registered {
			fenced[port] = true
		}
	}
	return fenced, nil
}
