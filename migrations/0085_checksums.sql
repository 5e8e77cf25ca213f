-- +goose Up
-- CRC-32C of what a row says, so that a flipped bit is found and not shown. Rows of before have none.
-- Of an event: its payload in the high 32 bits, its other columns in the low ones (journal.Record.checksum); NULL on Postgres, which has
-- checksums of its own. Of an entry: its JSON in the high 32 bits, in parts or not; NULL while an event says it.
alter table journal_events add column checksum bigint;
alter table transcript_entries add column checksum bigint;
-- Of a request: its parameters, in parts or not, in the high 32 bits, what else it asks in the low ones. Of a message: its JSON.
alter table interactive_requests add column checksum bigint;
alter table queued_messages add column checksum bigint;

-- +goose Down
alter table queued_messages drop column checksum;
alter table interactive_requests drop column checksum;
alter table transcript_entries drop column checksum;
alter table journal_events drop column checksum;
