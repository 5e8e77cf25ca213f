package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// amount is a number set by a list of NAME=N.
type amount struct {
	name            string
	value, min, max int // value is the default; a max of 0 means none
	doc             string
}

func limitAmounts() []amount {
	return []amount{
		{"connections", 4096, 0, 0, "no streams; beyond it the one that waited longest without a whole request is closed"},
		{"streams", 10_000, 0, 0, "one more is refused with 503"},
		{"streams-per-address", 1000, 0, 0, "(IPv6: a /64) one more is refused with 429; behind a proxy all clients have one"},
		{"rpc-rate", 600, 0, 0, "JSON-RPC messages of one caller per minute, more are answered rate_limited"},
		{"tasks", 1000, 1, 0, "of this store that run or wait, more are refused with 429"},
		{"tasks-per-session", 32, 1, 0, "of one session"},
		{"store-wait-ms", 10_000, 1, 3_600_000, "a request that writes waits as long for a database that refuses writes, then 503"},
	}
}

func retentionAmounts() []amount {
	const century = 36_500 // days
	return []amount{
		{"journal-days", 90, 0, century, "age of events; a client that resumes from before gets a gap notice"},
		{"journal-events", 0, 0, 0, "newest events"},
		{"records-days", 90, 0, century, "age of settled requests, ended jobs, extension reloads, rolled back turns, turns of workers"},
		{"records", 100_000, 0, 0, "newest settled requests, ended jobs and extension reloads, of each"},
		{"archived-days", 365, 0, century, "since its archiving a session keeps its transcript; reading imports what codex has again"},
		{"archived", 0, 0, 0, "sessions archived last that keep theirs"},
		{"turns-days", 0, 0, century, "age of turns of all sessions, with their entries; a session's newest turn stays"},
		{"turns", 0, 0, 0, "newest turns of a session"},
	}
}

func limitVariables() []Variable {
	return grouped("Limits", []Variable{amountsVariable("HARNESS_LIMITS", limitAmounts(), "0: no limit.",
		func(c *Config) any { return &c.limits })})
}

func retentionVariables() []Variable {
	return grouped("Retention", []Variable{amountsVariable("HARNESS_RETENTION", retentionAmounts(), "0 keeps all.",
		func(c *Config) any { return &c.retention })})
}

func amountsVariable(name string, all []amount, zero string, field func(*Config) any) Variable {
	var names, docs []string
	for _, one := range all {
		names, docs = append(names, one.name), append(docs, fmt.Sprintf("%s (%d): %s", one.name, one.value, one.doc))
	}
	return Variable{Name: name, Allowed: "a comma-separated list of NAME=N, where NAME is " + strings.Join(names, ", "),
		check: func(s string) bool { return isAmount(all, s) }, Doc: strings.Join(docs, ". ") + ". " + zero, field: field}
}

func isAmount(all []amount, s string) bool {
	name, text, _ := strings.Cut(s, "=")
	n, err := strconv.Atoi(text)
	for _, one := range all {
		if one.name == name {
			return err == nil && text[0] != '+' && n >= one.min && (one.max == 0 || n <= one.max)
		}
	}
	return false
}

// amounts returns the numbers of a list by name, and the defaults of the names that are missing. The last entry of a
// name counts.
func amounts(all []amount, list []string) map[string]int {
	set := map[string]int{}
	for _, one := range all {
		n, err := strconv.Atoi(saidOf(one.name, list))
		if err != nil {
			n = one.value // not in the list
		}
		set[one.name] = n
	}
	return set
}

func (c *Config) setAmounts() {
	n := amounts(limitAmounts(), c.limits)
	c.Limits = Limits{HTTPConnections: n["connections"], Streams: n["streams"], StreamsPerAddress: n["streams-per-address"],
		RPCRate: n["rpc-rate"], Tasks: n["tasks"], TasksPerSession: n["tasks-per-session"],
		StoreWait: time.Duration(n["store-wait-ms"]) * time.Millisecond}
	n = amounts(retentionAmounts(), c.retention)
	c.Retention = Retention{JournalDays: n["journal-days"], JournalEvents: n["journal-events"], RecordDays: n["records-days"],
		Records: n["records"], ArchivedDays: n["archived-days"], Archived: n["archived"], TurnDays: n["turns-days"], Turns: n["turns"]}
}
