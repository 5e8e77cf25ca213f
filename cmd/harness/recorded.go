package main

import (
	"encoding/json"
	"time"

	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/scrub"
)

// storeRefused is what an outage of the store is kept as.
func storeRefused(over journal.OutageError, until time.Time) journal.Event {
	return internalEvent("store.refused", struct {
		Engine string    `json:"engine"`
		Since  time.Time `json:"since"`
		Until  time.Time `json:"until"`
		Cause  string    `json:"cause"`
	}{string(over.Engine), over.Since.UTC(), until.UTC(), database.Reason(over.Cause)})
}

// storeMended is what mending SQLite's log is kept as, storeDamaged a row that is not as it was written.
func storeMended(frames int) journal.Event {
	return internalEvent("store.mended", struct {
		Frames int `json:"frames"`
	}{frames})
}

func storeDamaged(row scrub.Row) journal.Event {
	return internalEvent("store.damaged", struct {
		Table   string `json:"table"`
		Row     string `json:"row"`
		Missing bool   `json:"missing"`
	}{row.Table, row.Key, row.Missing})
}

// configurationLoaded is what a server runs with, as it is kept: what was set and where, without secrets.
func configurationLoaded(cfg *config.Config, nodeID string) journal.Event {
	return internalEvent("configuration.loaded", struct {
		Version  string           `json:"version"`
		Node     string           `json:"node"`
		Settings []config.Setting `json:"settings"`
	}{version, nodeID, cfg.Set()})
}

// internalEvent is one that shows to no client.
func internalEvent(kind string, about any) journal.Event {
	payload, err := json.Marshal(about)
	if err != nil {
		panic("encode the event " + kind + ": " + err.Error()) // texts and times encode
	}
	return journal.Event{Type: kind, Source: "harness", Payload: payload}
}
