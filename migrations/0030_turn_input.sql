-- +goose Up
-- What a turn was begun with, a JSON object a line for each message, while it runs; of one that was cut off before any tool ran it stays, so that
-- it can be tried again.
alter table turns add column input text not null default '';

-- +goose Down
alter table turns drop column input;
