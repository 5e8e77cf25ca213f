-- +goose Up
-- Whether the agent of a session has tools of its own ('on'), or those of this server alone ('off').
alter table session_sources add column native_tools text not null default 'on';

-- +goose Down
alter table session_sources drop column native_tools;
