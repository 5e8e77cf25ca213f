-- +goose Up
-- Counts how often a session got another node: what is written for its runtime counts only under the number that the writer knew it by.
alter table sessions add column epoch bigint not null default 0;

-- +goose Down
alter table sessions drop column epoch;
