-- +goose Up
-- What a node does: api answers clients, runner runs agents and owns their sessions.
alter table nodes add column roles text not null default 'api,runner';

-- +goose Down
alter table nodes drop column roles;
