package session

import "strings"

// Author is who wrote a message, decided a request, stopped a turn or archived a session, and when.
type Author struct {
	Actor string `json:"actor"`
	// Name is for people to read, "" if only the actor is known.
	Name string `json:"name,omitempty"`
	At   int64  `json:"at,omitempty"` // ms
}

// Named fills in the name of an author whose actor contains it.
func (a Author) Named() Author {
	if kind, name, is := strings.Cut(a.Actor, ":"); is && a.Name == "" {
		switch kind {
		case "token", "jwt", "extension":
			a.Name = name
		}
	}
	return a
}
