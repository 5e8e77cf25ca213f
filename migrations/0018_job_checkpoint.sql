-- +goose Up
-- How far a running job's attempt got, in its definition's words; '' for nothing that could be gone on from.
alter table jobs add column checkpoint text not null default '';

-- +goose Down
alter table jobs drop column checkpoint;
