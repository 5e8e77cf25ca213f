-- +goose Up
-- What a session's runtime could do when the session was opened (JSON), '' when it was not opened here or before this was kept.
alter table sessions add column capabilities text not null default '';

-- +goose Down
alter table sessions drop column capabilities;
