-- +goose Up
-- A node's lease (ms): until when by the database's clock, and how long after it others wait before they end what it ran. epoch counts who had
-- the node id; guarded says that its runtimes stop by themselves when the lease is over, without which nobody takes its place; draining that it
-- begins nothing new. takeovers counts the epochs of all nodes, beside the head that every writer locks: a writer that finds another number looks
-- whether it is its node's process still.
alter table nodes add column epoch bigint not null default 0;
alter table nodes add column lease_until bigint not null default 0;
alter table nodes add column grace bigint not null default 0;
alter table nodes add column guarded bigint not null default 0;
alter table nodes add column draining bigint not null default 0;
alter table nodes add column version text not null default '';
alter table journal_head add column takeovers bigint not null default 0;

-- +goose Down
alter table journal_head drop column takeovers;
alter table nodes drop column version;
alter table nodes drop column draining;
alter table nodes drop column guarded;
alter table nodes drop column grace;
alter table nodes drop column lease_until;
alter table nodes drop column epoch;
