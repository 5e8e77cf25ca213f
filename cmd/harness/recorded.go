package main

import (
	"encoding/json"
	"time"

	"harness/config"
	"harness/database"
	"harness/journal"
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
