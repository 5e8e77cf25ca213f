-- +goose Up
-- The tools a session's client brought when it was made, as JSON; null when that is not known (made elsewhere or before this version).
alter table sessions add column dynamic_tools text;

-- +goose Down
alter table sessions drop column dynamic_tools;
