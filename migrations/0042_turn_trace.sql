-- +goose Up
-- The W3C trace that a turn belongs to: its two ids in hex with a dash between them, '' for none.
alter table turns add column trace text not null default '';

-- +goose Down
alter table turns drop column trace;
