-- +goose Up
-- The texts a runtime process is in the middle of, and how long each is as far as its output has been taken in.
alter table runtime_spools add column texts text not null default '';

-- +goose Down
alter table runtime_spools drop column texts;
