-- +goose Up
-- CRC-32C of what a row says, so that a flipped bit is found and not shown. Rows of before have none.
-- Of an event: its payload in the high 32 bits, its other columns in the low ones (journal.Record.checksum); NULL on Postgres, which has
-- checksums of its own. Of an entry: its JSON in the high 32 bits, in parts or not; NULL while an event says it.
alter table journal_events add column checksum bigint;
alter table transcript_entries add column checksum bigint;

-- +goose Down
alter table transcript_entries drop column checksum;
alter table journal_events drop column checksum;
