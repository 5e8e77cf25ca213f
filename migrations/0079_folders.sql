-- +goose Up
-- What is stored of a session's folder at a git remote: under which name, as which commit, since when, as which turn
-- left it; or why it was not.
alter table session_custody add column folder_name text not null default '';
alter table session_custody add column folder_snapshot text not null default '';
alter table session_custody add column folder_turn text not null default '';
alter table session_custody add column folder_stored_at bigint not null default 0;
alter table session_custody add column folder_refusal text not null default '';
-- A folder of a node that was lost, and the node at which it went on.
create table moved_folders (
	node_id  text not null,
	folder   text not null,
	to_node  text not null,
	moved_at bigint not null,
	primary key (node_id, folder)
);
-- Sessions that are gone and of whose folders something is still stored.
create table unneeded_folders (
	session_id text primary key
);

-- +goose Down
drop table unneeded_folders;
drop table moved_folders;
alter table session_custody drop column folder_refusal;
alter table session_custody drop column folder_stored_at;
alter table session_custody drop column folder_turn;
alter table session_custody drop column folder_snapshot;
alter table session_custody drop column folder_name;
