-- +goose Up
-- Contents of artifacts that are objects of an object store, by their hash. What no row names there is nobody's.
create table artifact_objects (
	hash text primary key,
	name text not null unique
);

-- +goose Down
drop table artifact_objects;
