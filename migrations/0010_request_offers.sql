-- +goose Up
-- What a runtime offers with a request: the decisions it names, and the questions a form was put into. JSON lists, '' for none.
alter table interactive_requests add column decisions text not null default '';
alter table interactive_requests add column questions text not null default '';

-- +goose Down
alter table interactive_requests drop column questions;
alter table interactive_requests drop column decisions;
