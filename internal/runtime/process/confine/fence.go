package confine

import (
	"fmt"

	"harness/internal/runtime/process/doors"
)

// Fence lists TCP ports to which a program and its children cannot connect: on any address, with any kind of socket.
// The call fails with EACCES, or with the error of a kernel without the feature that the call uses.
//
// It applies to sockets that the program connects itself. A program outside the fence can hand over a connected
// socket, or connect on request. The fence blocks neither.
type Fence struct {
	// Ports are the blocked ports.
	Ports []uint16 `json:"ports,omitempty"`
	// Doors are folders of registered ports (package doors). The stage reads them when it starts the program, so that
	// the fence includes ports that were registered after the plan was made.
	Doors []string `json:"doors,omitempty"`
}

// ports returns all currently blocked ports. An unreadable folder is an error: its ports would stay open.
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
