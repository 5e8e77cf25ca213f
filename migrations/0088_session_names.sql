-- +goose Up
-- What lists and notifications call a session, '' until its first message; and who gave it that name: auto (its first
-- message), user, agent, '' if that is not known. The column title stays as codex-manager's clients know it.
alter table sessions add column name text not null default '';
alter table sessions add column title_source text not null default '';
update sessions set name = case when length(title) <= 60 then title else substr(title, 1, 59) || '…' end
	where title not in ('', 'New chat', 'Harness worker (starting)');

-- +goose Down
alter table sessions drop column title_source;
alter table sessions drop column name;
