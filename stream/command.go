package stream

import (
	"encoding/json"
	"strconv"
)

type commandKind int

const (
	commandInvalid commandKind = iota
	commandSubscribe
	commandUnsubscribe
	commandPing
)

// command is a client's request. A subscribe has a filter ("" means every thread) and perhaps a cursor.
type command struct {
	kind   commandKind
	filter string
	cursor *cursor
}

// cursor is the place where a client wants to resume: after a position, or at the head ("latest").
type cursor struct {
	after  int64
	latest bool
}

// parseCursor reads the after parameter: a non-negative decimal integer, or latest.
func parseCursor(s string) (cursor, bool) {
	if s == "latest" {
		return cursor{latest: true}, true
	}
	// ParseInt would also accept a sign.
	if s == "" || s[0] < '0' || s[0] > '9' {
		return cursor{}, false
	}
	after, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return cursor{}, false
	}
	return cursor{after: after}, true
}

// parseCommand reads a client's message. Members are matched exactly and unknown ones ignored, as the original does.
func parseCommand(data []byte) command {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return command{}
	}
	name, ok := stringMember(fields["type"])
	if !ok {
		return command{}
	}
	switch name {
	case "ping":
		return command{kind: commandPing}
	case "unsubscribe":
		return command{kind: commandUnsubscribe}
	case "subscribe":
		return parseSubscribe(fields)
	default:
		return command{}
	}
}

func parseSubscribe(fields map[string]json.RawMessage) command {
	out := command{kind: commandSubscribe}
	if after, resumes := fields["after"]; resumes {
		text := string(after)
		if s, ok := stringMember(after); ok {
			// Numbers must be JSON numbers; only the word latest is a string.
			if s != "latest" {
				return command{}
			}
			text = s
		}
		at, ok := parseCursor(text)
		if !ok {
			return command{}
		}
		out.cursor = &at
	}
	if out.cursor != nil && string(fields["threadId"]) == "null" {
		return out
	}
	thread, ok := stringMember(fields["threadId"])
	if !ok || thread == "" {
		return command{}
	}
	out.filter = thread
	return out
}

func stringMember(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}
