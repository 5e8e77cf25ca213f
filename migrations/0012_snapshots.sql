-- +goose Up
-- The text of an item that is still being written is read from the journal: its deltas, found by item. Nothing else is in this index.
create index journal_events_deltas on journal_events (session_id, item_id, pos) where type = 'runtime.notification' and meta like '%"text":{%';

-- The runtime's items that have begun and not ended.
create table running_items (
	session_id text not null,
	message_id text not null,
	turn_id    text not null,
	generation text not null,
	node_id    text not null,
	-- 1: the item may go on when its turn is over.
	outlives   bigint not null,
	primary key (session_id, message_id)
);
create index running_items_node on running_items (node_id, generation);
insert into running_items (session_id, message_id, turn_id, generation, node_id, outlives)
	select e.session_id, e.message_id, e.turn_id, t.generation, t.node_id, 0
	from turns t join transcript_entries e on e.session_id = t.session_id and e.turn_id = t.turn_id
	where t.status <> 'completed' and e.status = 'streaming' and exists (select 1 from journal_events j
		where j.session_id = e.session_id and j.item_id = e.message_id and j.type = 'runtime.notification' and j.meta like '%"text":{%');

-- Turns that were taken back: their entries stay stored and are read no more.
create table rolled_back_turns (
	session_id     text not null,
	turn_id        text not null,
	rolled_back_at bigint not null,
	primary key (session_id, turn_id)
);

-- Rollbacks a runtime was asked for and whose outcome is not stored yet: the turns they take back, newest first, as a JSON list.
create table open_rollbacks (
	session_id text primary key,
	turns      text not null,
	node_id    text not null
);

-- +goose Down
drop table open_rollbacks;
drop table rolled_back_turns;
drop table running_items;
drop index journal_events_deltas;
