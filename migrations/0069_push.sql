-- +goose Up
-- Browsers that are told what happens while no page is open (Web Push).
create table push_subscriptions (
	id         text primary key,
	endpoint   text not null unique, -- secret: whoever knows it may write to it
	p256dh     text not null,
	auth       text not null,
	holder     text not null,   -- who subscribed, and by what access: it is told what that one may see, as long as that counts
	proof      text not null,
	until      bigint not null, -- ms, 0 for an access without an end
	projects   text not null,   -- JSON: those the holder is limited to, null for no limit
	created_at bigint not null
);
create index push_subscriptions_holder on push_subscriptions (holder, created_at);

-- +goose Down
drop table push_subscriptions;
