-- +goose Up
-- Where the server that has a node id is reached by the others ('' by none), and the SHA-256 of the certificate it shows there.
alter table nodes add column address text not null default '';
alter table nodes add column certificate text not null default '';

-- +goose Down
alter table nodes drop column certificate;
alter table nodes drop column address;
