-- +goose Up
-- What an interactive request asks in words every runtime shares (JSON), '' of rows from before.
alter table interactive_requests add column asked text not null default '';

-- +goose Down
alter table interactive_requests drop column asked;
