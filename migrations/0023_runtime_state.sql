-- +goose Up
-- What the translator of a runtime process remembers at the position, as JSON the adapter wrote; empty when it remembers nothing.
alter table runtime_spools add column state text not null default '';

-- +goose Down
alter table runtime_spools drop column state;
