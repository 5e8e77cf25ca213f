-- +goose Up
-- Rewinds of sessions to the state before a turn. A step that is not done is finished by the next server.
create table rewinds (
	id           text primary key,
	session_id   text not null,
	node_id      text not null,    -- has the states of the folder
	turn_id      text not null,    -- the first turn that is taken back
	turns        text not null,    -- JSON: the turns that leave the transcript, or return to it
	undoes       text not null,    -- the rewind that this one undoes, '' for none
	folder       text not null,
	tree_now     text not null,    -- the state of the folder before, '' if its files stay
	tree_then    text not null,    -- the state that it gets
	files        bigint not null,  -- how many change
	step         text not null,    -- files, conversation, done, conflict
	conversation text not null,    -- what became of it: rolledBack, retold, kept
	replay       integer not null, -- 1 until the runtime is sent the conversation again
	actor        text not null,
	created_at   bigint not null   -- ms
);
create index rewinds_session on rewinds (session_id, created_at);

-- +goose Down
drop table rewinds;
