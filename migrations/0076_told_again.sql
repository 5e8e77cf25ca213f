-- +goose Up
-- Whether the runtime of a session that was taken is told the conversation again with the next message, as its memory stayed behind.
alter table session_custody add column tell_again integer not null default 0;

-- +goose Down
alter table session_custody drop column tell_again;
