-- +goose Up
-- The projects a token is limited to, as a JSON list of their ids; '' for none. The role of such a token is stored with the
-- suffix "@projects", which no release before this one knows: there it does not count, and opens nothing.
alter table access_tokens add column projects text not null default '';

-- The role of the actor, '' where nobody asked and in rows from before. A row that has one is sealed with it.
alter table audit_log add column role text not null default '';

-- +goose Down
alter table audit_log drop column role;
alter table access_tokens drop column projects;
