-- +goose Up
-- What an entry says is stored once: in the event that announced it as it is (event_pos), until that is pruned, or as JSON (encoded). Entries
-- of before have it in the columns content and details until they change.
alter table transcript_entries add column encoded text;
alter table transcript_entries add column event_pos bigint;
-- Made anew to be the youngest: before Postgres has statistics, all that begin with the session look equally good for finding a message.
drop index transcript_entries_message;
create unique index transcript_entries_message on transcript_entries (session_id, message_id);

-- +goose Down
alter table transcript_entries drop column event_pos;
alter table transcript_entries drop column encoded;
