-- +goose Up
-- What is still to be told to others of what the journal tells.
create table notify_state (
	id  bigint primary key,
	pos bigint not null -- of the journal, up to which it is followed; -1 before anybody is told
);
insert into notify_state (id, pos) values (1, -1);
create table notify_messages (
	id       text primary key,
	target   text not null,
	at       bigint not null, -- when it happened
	due      bigint not null, -- when it is sent, or sent again
	attempts bigint not null,
	news     text not null    -- JSON
);
create index notify_messages_due on notify_messages (target, due);

-- +goose Down
drop table notify_messages;
drop table notify_state;
