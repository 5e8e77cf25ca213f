-- +goose Up
-- How many batches were committed without an event: with the position it tells whether anything was since a row was read.
alter table journal_head add column eventless bigint not null default 0;

-- +goose Down
alter table journal_head drop column eventless;
