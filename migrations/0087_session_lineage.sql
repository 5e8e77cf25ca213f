-- +goose Up
-- Sessions that an agent started from its own session.
create table session_lineage (
	session_id      text primary key,
	parent_id       text not null,
	root_id         text not null,   -- the first session of the tree, which a client opened
	depth           integer not null, -- 1 below the root
	started_by_turn text not null,   -- the turn of the parent, '' for none
	start_key       text not null,   -- identifies the request among those of the parent
	request         text not null,   -- sha256 of the request, hex
	created_at      bigint not null  -- ms
);
create index session_lineage_parent on session_lineage (parent_id);
create index session_lineage_root on session_lineage (root_id, created_at);
-- Messages from one session to another. Their state follows from the queue and the turns.
create table session_mail (
	id           text primary key, -- that of the queued message
	session_id   text not null,    -- receives it
	from_session text not null,
	reply_to     text not null,    -- the message that this one answers, '' for none
	hops         integer not null, -- 1 plus the most that the running turn of the sender received
	mail_key     text not null,    -- identifies the request among those of the sender
	request      text not null,    -- sha256 of the request, hex
	turn_id      text not null,    -- the turn that received it, '' before
	created_at   bigint not null   -- ms
);
create unique index session_mail_key on session_mail (from_session, mail_key);
create index session_mail_session on session_mail (session_id, turn_id);

-- +goose Down
drop table session_mail;
drop table session_lineage;
