-- +goose Up
-- Chats of a project are moved and deleted in the order they were put into it.
alter table sessions add column project_rank bigint not null default 0;

-- +goose Down
alter table sessions drop column project_rank;
